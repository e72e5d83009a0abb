//! Calls of the Bot API.

use std::time::Duration;

use reqwest::multipart::Form;
use reqwest::{RequestBuilder, redirect};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bot_error::{BotError, BotRefusal};
use crate::token::BotToken;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of a file transfer.
const FILE_TIMEOUT: Duration = Duration::from_secs(600);

/// A bot: its token and the server of its API.
#[derive(Clone)]
pub(crate) struct Bot {
    http: reqwest::Client,
    url: String,
    token: BotToken,
}

/// An answer of the Bot API.
#[derive(Deserialize)]
struct BotAnswer<T> {
    result: Option<T>,
}

impl Bot {
    /// Creates a bot. Nothing is sent yet.
    pub(crate) fn new(url: &str, token: BotToken) -> Result<Self, BotError> {
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // The URL contains the token, which a redirect would send to another server.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(BotError::connection)?;
        Ok(Self {
            http,
            url: url.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// The id of the bot.
    pub(crate) fn id(&self) -> i64 {
        self.token.bot()
    }

    /// Calls a method.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        body: &impl Serialize,
    ) -> Result<T, BotError> {
        let request = self.request(method).json(body).timeout(CALL_TIMEOUT);
        send(method, request).await
    }

    /// Calls a method that answers when there is something new, or after `longest`.
    pub(crate) async fn poll<T: DeserializeOwned>(
        &self,
        method: &'static str,
        body: &impl Serialize,
        longest: Duration,
    ) -> Result<T, BotError> {
        let request = self.request(method).json(body);
        send(method, request.timeout(longest + CALL_TIMEOUT)).await
    }

    /// Calls a method with a file upload.
    pub(crate) async fn send_form<T: DeserializeOwned>(
        &self,
        method: &'static str,
        form: Form,
    ) -> Result<T, BotError> {
        let request = self.request(method).multipart(form);
        send(method, request.timeout(FILE_TIMEOUT)).await
    }

    /// Returns the content of a file at the path that `getFile` returned.
    pub(crate) async fn download(&self, path: &str) -> Result<Vec<u8>, BotError> {
        // A Bot API server on this machine returns the path of a local file.
        if path.starts_with('/') {
            return tokio::fs::read(path).await.map_err(BotError::File);
        }
        let url = format!("{}/file/bot{}/{path}", self.url, self.token.reveal());
        let request = self.http.get(url).timeout(FILE_TIMEOUT);
        let response = request.send().await.map_err(BotError::connection)?;
        let status = response.status();
        if !status.is_success() {
            return Err(BotError::Answer {
                method: "getFile",
                status: status.as_u16(),
            });
        }
        let content = response.bytes().await.map_err(BotError::connection)?;
        Ok(content.into())
    }

    fn request(&self, method: &'static str) -> RequestBuilder {
        let url = format!("{}/bot{}/{method}", self.url, self.token.reveal());
        self.http.post(url)
    }
}

async fn send<T: DeserializeOwned>(
    method: &'static str,
    request: RequestBuilder,
) -> Result<T, BotError> {
    let response = request.send().await.map_err(BotError::connection)?;
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(BotError::connection)?;
    let not_readable = BotError::Answer { method, status };
    if (200..300).contains(&status) {
        let answer: Option<BotAnswer<T>> = serde_json::from_slice(&body).ok();
        return answer.and_then(|answer| answer.result).ok_or(not_readable);
    }
    let Ok(refusal) = serde_json::from_slice::<BotRefusal>(&body) else {
        return Err(not_readable);
    };
    match refusal.parameters.retry_after {
        Some(seconds) => Err(BotError::TooMany(Duration::from_secs(seconds))),
        None => Err(BotError::Refused { method, refusal }),
    }
}
