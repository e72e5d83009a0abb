//! OpenAI's Chat Completions API, which Ollama, vLLM, OpenRouter, Groq and many others also support.

mod call;
mod chunk;
mod dialect;
mod reply;
mod request;
mod thought;

use std::sync::{Mutex, PoisonError};

use futures_util::stream::BoxStream;
use serde_json::Value;
use shared::provider::{MediaKind, Provider};

use self::dialect::Dialect;
use self::reply::ChatReply;
use crate::http::{self, Events, SilenceLimits};
use crate::name::ToolNames;
use crate::strict_schema;
use crate::{LanguageModel, LearnedLimits, ModelError, ModelEvent, ModelRequest, RenderContext};

/// A model behind a Chat Completions API. It has no `Debug`, because it contains the key.
pub struct OpenAi {
    http: reqwest::Client,
    url: String,
    /// Empty if the server needs none.
    key: String,
    model_id: String,
    name: String,
    silence_limits: SilenceLimits,
    learned: LearnedLimits,
    /// Corrected when the server rejects a part of it.
    dialect: Mutex<Dialect>,
}

impl OpenAi {
    /// Creates a model from its id at the server and its full `name`, `provider/id`. The client must neither follow
    /// redirects nor limit the time of a whole call.
    pub fn new(
        http: reqwest::Client,
        provider: &Provider,
        api_key: Option<&str>,
        model_id: &str,
        name: String,
    ) -> Self {
        let base = provider.base_url.trim().trim_end_matches('/');
        Self {
            http,
            url: format!("{base}/chat/completions"),
            key: api_key.unwrap_or_default().trim().to_owned(),
            model_id: model_id.to_owned(),
            name,
            silence_limits: SilenceLimits::with_silent_start(provider.stall_seconds),
            learned: LearnedLimits::default(),
            dialect: Mutex::new(Dialect::of(provider)),
        }
    }

    /// Returns the same model, which shares the limits that were learned of models.
    pub(crate) fn learning(self, learned: LearnedLimits) -> Self {
        let mut dialect = self.dialect();
        dialect.takes = learned.takes(&self.name).unwrap_or(dialect.takes);
        Self {
            learned,
            dialect: Mutex::new(dialect),
            ..self
        }
    }

    /// Returns the body of a request.
    pub(super) fn body(&self, request: &ModelRequest<'_>) -> Value {
        let dialect = self.dialect();
        let addressee = RenderContext {
            model_id: &self.model_id,
            name: &self.name,
            names: &ToolNames::of(request.tools),
            takes: dialect.takes,
        };
        request::render(request, &addressee, dialect)
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. If the server rejects a parameter, a file or the cap, sends it again without it.
    async fn ask(&self, mut request: ModelRequest<'_>) -> Result<Events, ModelError> {
        request.max_tokens = self.learned.cap(&self.name, request.max_tokens);
        loop {
            let dialect = self.dialect();
            let mut call = self.http.post(&self.url).json(&self.body(&request));
            if !self.key.is_empty() {
                call = call.bearer_auth(&self.key);
            }
            let error = match http::post(call, self.silence_limits).await {
                Ok(events) => return Ok(events),
                Err(error) => error,
            };
            if let Some(cap) = self.learned.learn(&self.name, &error, request.max_tokens) {
                request.max_tokens = cap;
                continue;
            }
            let Some(corrected) = dialect.corrected(&error, request.messages) else {
                return Err(error);
            };
            tracing::info!(model = self.name, "asked again without what was refused");
            if corrected.takes != dialect.takes {
                self.learned
                    .learn_takes(&self.name, &error, corrected.takes);
            }
            *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = corrected;
        }
    }
}

impl LanguageModel for OpenAi {
    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
    ) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        let names = ToolNames::of(request.tools);
        let fold = ChatReply::new(names, self.name.clone(), request.messages);
        super::reply::stream(&self.key, self.ask(request), fold)
    }

    fn takes_images(&self) -> bool {
        self.dialect().takes.includes(MediaKind::Image)
    }

    fn constrains_output(&self, schema: &Value) -> bool {
        self.dialect().structured_output && strict_schema::is_strict(schema)
    }
}

#[cfg(test)]
mod tests;
