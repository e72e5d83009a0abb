//! Anthropic's Messages API.

mod event;
mod reply;
mod request;

use std::time::Duration;

use futures_util::stream::BoxStream;

use self::reply::Reply;
use crate::model::name::ToolNames;
use crate::model::{Model, ModelError, ModelEvent, Request, http};

/// Anthropic pings while the model thinks, so a minute of silence is a dead connection.
const SILENCE: Duration = Duration::from_secs(60);

/// A model behind Anthropic's Messages API. It has no `Debug`, as it holds the key.
pub struct Anthropic {
    http: reqwest::Client,
    url: String,
    key: String,
    model_id: String,
    name: String,
}

impl Anthropic {
    /// A model by its id at Anthropic and its `name` for us, `provider/id`. The client must neither
    /// follow redirects (the key would go with them) nor limit the time of a whole call.
    pub fn new(
        http: reqwest::Client,
        base_url: &str,
        api_key: &str,
        model_id: &str,
        name: String,
    ) -> Self {
        let base = base_url
            .trim()
            .trim_end_matches('/')
            .trim_end_matches("/v1");
        Self {
            http,
            url: format!("{base}/v1/messages"),
            key: api_key.trim().to_owned(),
            model_id: model_id.to_owned(),
            name,
        }
    }
}

impl Model for Anthropic {
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
        let names = ToolNames::of(request.tools);
        let call = self
            .http
            .post(&self.url)
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01")
            .json(&request::render(&request, &names, &self.model_id));
        let fold = Reply::new(names, self.name.clone());
        super::reply::stream(&self.key, http::post(call, SILENCE), fold)
    }
}

#[cfg(test)]
mod tests;
