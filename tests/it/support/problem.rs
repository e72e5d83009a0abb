//! Checks that apply to every error response.

use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Words that occur only in the code of this service and its libraries.
const INTERNAL: [&str; 8] = [
    "sqlx", "postgres", "database", "panicked", "struct ", "::", ".rs", "/tmp/",
];

/// An error response whose format has been checked.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Problem {
    /// Sends a request that the service must refuse.
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = response.text().await.unwrap();
        assert!((400..600).contains(&status), "{status}: {text}");
        assert_eq!(
            headers["content-type"], "application/problem+json",
            "{text}"
        );
        let body: Value = serde_json::from_str(&text).expect(&text);
        assert_eq!(body["status"], status, "{text}");
        let page = format!("/docs/errors/{}", body["code"].as_str().unwrap());
        assert_eq!(body["type"], *page, "{text}");
        let request_id = body["request_id"].as_str().unwrap_or_default();
        assert!(request_id.starts_with("req_"), "{text}");
        assert_eq!(headers["x-request-id"], request_id, "{text}");
        for word in INTERNAL {
            assert!(!text.contains(word), "`{word}` is ours: {text}");
        }
        Self {
            status,
            headers,
            body,
        }
    }

    /// Returns the error code, for programs.
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap()
    }

    /// Returns the message, for people.
    pub(crate) fn detail(&self) -> &str {
        self.body["detail"].as_str().unwrap()
    }

    /// Returns the status and the error code.
    pub(crate) fn kind(&self) -> (u16, &str) {
        (self.status, self.code())
    }

    /// Returns the JSON pointer and the message of each error.
    pub(crate) fn errors<'a>(&'a self) -> Vec<(&'a str, &'a str)> {
        let errors = self.body["errors"].as_array().into_iter().flatten();
        let texts = |error: &'a Value| {
            let text = |field| error[field].as_str().unwrap();
            (text("pointer"), text("detail"))
        };
        errors.map(texts).collect()
    }
}
