//! Anthropic's Messages API.

mod event;
mod reply;
mod request;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use futures_util::stream::BoxStream;
use serde_json::Value;
use shared::provider::{MediaKind, Provider};

use self::reply::AnthropicReply;
use crate::http::{self, Events, SilenceLimits};
use crate::media::AcceptedMedia;
use crate::name::ToolNames;
use crate::strict_schema;
use crate::{LanguageModel, LearnedLimits, ModelError, ModelEvent, ModelRequest, RenderContext};

/// The kinds of files that the API accepts.
const TAKES: [MediaKind; 2] = [MediaKind::Image, MediaKind::Pdf];

/// The hosts of the vendor.
const VENDORS: [&str; 1] = ["anthropic.com"];

/// A model behind Anthropic's Messages API. It has no `Debug`, because it contains the key.
pub struct Anthropic {
    http: reqwest::Client,
    url: String,
    key: String,
    model_id: String,
    name: String,
    silence_limits: SilenceLimits,
    learned: LearnedLimits,
    /// The accepted kinds of files. A kind is removed after the API has rejected it.
    takes: Mutex<AcceptedMedia>,
    /// Whether the last message can be constrained to a schema. Older models reject that.
    has_structured_output: AtomicBool,
}

impl Anthropic {
    /// Creates a model from its id at the provider and its full `name`, `provider/id`. The client must not follow
    /// redirects, because they would receive the key. It must not limit the time of a whole call.
    pub fn new(
        http: reqwest::Client,
        provider: &Provider,
        api_key: &str,
        model_id: &str,
        name: String,
    ) -> Self {
        let base = provider.base_url.trim().trim_end_matches('/');
        let base = base.trim_end_matches("/v1");
        Self {
            http,
            url: format!("{base}/v1/messages"),
            key: api_key.trim().to_owned(),
            model_id: model_id.to_owned(),
            name,
            // The API sends pings while the model thinks.
            silence_limits: SilenceLimits::with_pings(provider.stall_seconds),
            learned: LearnedLimits::default(),
            takes: Mutex::new(AcceptedMedia::of(&TAKES, provider.takes.as_deref())),
            has_structured_output: strict_schema::is_offered(provider, &VENDORS).into(),
        }
    }

    /// Returns the same model, which shares the limits that were learned of models.
    pub(crate) fn learning(self, learned: LearnedLimits) -> Self {
        let takes = learned.takes(&self.name).unwrap_or_else(|| self.takes());
        Self {
            learned,
            takes: Mutex::new(takes),
            ..self
        }
    }

    /// Returns the body of a request.
    pub(super) fn body(&self, request: &ModelRequest<'_>) -> Value {
        let addressee = RenderContext {
            model_id: &self.model_id,
            name: &self.name,
            names: &ToolNames::of(request.tools),
            takes: self.takes(),
        };
        let constrained = self.has_structured_output.load(Ordering::Relaxed);
        let request = ModelRequest {
            output_schema: request.output_schema.filter(|_| constrained),
            ..*request
        };
        request::render(&request, &addressee)
    }

    fn takes(&self) -> AcceptedMedia {
        *self.takes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. If the model rejects the schema, a file or the cap, sends it again without it.
    async fn ask(&self, mut request: ModelRequest<'_>) -> Result<Events, ModelError> {
        request.max_tokens = self.learned.cap(&self.name, request.max_tokens);
        loop {
            let takes = self.takes();
            let call = self
                .http
                .post(&self.url)
                .header("x-api-key", &self.key)
                .header("anthropic-version", "2023-06-01")
                .json(&self.body(&request));
            let error = match http::post(call, self.silence_limits).await {
                Ok(events) => return Ok(events),
                Err(error) => error,
            };
            if let Some(cap) = self.learned.learn(&self.name, &error, request.max_tokens) {
                request.max_tokens = cap;
                continue;
            }
            if is_about_schema(&error) && self.has_structured_output.swap(false, Ordering::Relaxed)
            {
                continue;
            }
            let Some(corrected) = takes.corrected(&error, request.messages) else {
                return Err(error);
            };
            tracing::info!(model = self.name, "asked again without what was refused");
            self.learned.learn_takes(&self.name, &error, corrected);
            *self.takes.lock().unwrap_or_else(PoisonError::into_inner) = corrected;
        }
    }
}

impl LanguageModel for Anthropic {
    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
    ) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        let names = ToolNames::of(request.tools);
        let fold = AnthropicReply::new(names, self.name.clone(), request.messages);
        super::reply::stream(&self.key, self.ask(request), fold)
    }

    fn takes_images(&self) -> bool {
        self.takes().includes(MediaKind::Image)
    }

    fn constrains_output(&self, schema: &Value) -> bool {
        self.has_structured_output.load(Ordering::Relaxed) && strict_schema::is_strict(schema)
    }
}

fn is_about_schema(error: &ModelError) -> bool {
    matches!(error, ModelError::Refused { status: 400, message } if message.contains("output_config"))
}

#[cfg(test)]
mod tests;
