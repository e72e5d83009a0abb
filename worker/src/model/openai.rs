//! OpenAI's Chat Completions, which Ollama, vLLM, OpenRouter, Groq and many others speak, too.

mod call;
mod chunk;
mod dialect;
mod reply;
mod request;
mod thought;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::BoxStream;
use serde_json::Value;

use self::dialect::Dialect;
use self::reply::Reply;
use crate::model::http::Events;
use crate::model::name::ToolNames;
use crate::model::{Model, ModelError, ModelEvent, Request, http};

/// Nothing is sent while the model thinks, and some servers hold a call back until it is whole, so
/// only a long silence tells a dead connection.
const SILENCE: Duration = Duration::from_secs(300);

/// A model behind a Chat Completions API. It has no `Debug`, as it holds the key.
pub struct OpenAi {
    http: reqwest::Client,
    url: String,
    /// Empty if the server wants none.
    key: String,
    model_id: String,
    name: String,
    /// Corrected when the server refuses it.
    dialect: Mutex<Dialect>,
}

impl OpenAi {
    /// A model by its id at the server and its `name` for us, `provider/id`. The client must neither
    /// follow redirects nor limit the time of a whole call.
    pub fn new(
        http: reqwest::Client,
        base_url: &str,
        api_key: Option<&str>,
        model_id: &str,
        name: String,
    ) -> Self {
        let base = base_url.trim().trim_end_matches('/');
        Self {
            http,
            url: format!("{base}/chat/completions"),
            key: api_key.unwrap_or_default().trim().to_owned(),
            model_id: model_id.to_owned(),
            name,
            dialect: Mutex::new(Dialect::of(base)),
        }
    }

    /// Asks, and if the server does not know a parameter, once more without it.
    async fn ask(&self, mut body: Value, max_tokens: u32) -> Result<Events, ModelError> {
        loop {
            let dialect = *self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
            dialect.apply(&mut body, max_tokens);
            let mut call = self.http.post(&self.url).json(&body);
            if !self.key.is_empty() {
                call = call.bearer_auth(&self.key);
            }
            let error = match http::post(call, SILENCE).await {
                Ok(events) => return Ok(events),
                Err(error) => error,
            };
            let Some(corrected) = dialect.corrected(&error) else {
                return Err(error);
            };
            *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = corrected;
        }
    }
}

impl Model for OpenAi {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        let names = ToolNames::of(request.tools);
        let body = request::render(&request, &names, &self.model_id);
        let fold = Reply::new(names, self.name.clone(), request.messages);
        super::reply::stream(&self.key, self.ask(body, request.max_tokens), fold)
    }
}

#[cfg(test)]
mod tests;
