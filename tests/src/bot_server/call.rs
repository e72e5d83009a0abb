//! A Bot API call and its response.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};

/// A file in a call.
#[derive(Clone, Debug)]
pub(super) struct CallFile {
    pub(super) field: String,
    pub(super) name: String,
    pub(super) content_type: String,
    pub(super) content: Vec<u8>,
}

/// A call of a Bot API method.
#[derive(Clone, Debug)]
pub(super) struct BotCall {
    pub(super) method: String,
    pub(super) fields: Value,
    pub(super) files: Vec<CallFile>,
}

/// An error response: the status and the description.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) retry_after: Option<u64>,
}

pub(super) type CallResult = Result<Value, Refused>;

impl BotCall {
    /// The value of a number field. Forms send numbers as text.
    pub(super) fn number(&self, field: &str) -> Option<i64> {
        let value = &self.fields[field];
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields[field].as_str()
    }

    /// The value of an object field. Forms send objects as JSON text.
    pub(super) fn object(&self, field: &str) -> Value {
        match &self.fields[field] {
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            value => value.clone(),
        }
    }

    /// Whether the call changes a chat.
    pub(super) fn changes_chat(&self) -> bool {
        self.method.starts_with("send") && self.method != "sendChatAction"
            || self.method.starts_with("edit")
    }
}

/// The error for an invalid call.
pub(super) fn bad_request(description: &str) -> Refused {
    Refused {
        code: 400,
        description: format!("Bad Request: {description}"),
        retry_after: None,
    }
}

pub(super) fn refused(code: u16, description: &str) -> Refused {
    Refused {
        code,
        description: description.to_owned(),
        retry_after: None,
    }
}

/// Converts a result to the HTTP response.
pub(super) fn response(result: CallResult) -> HttpResponse {
    match result {
        Ok(result) => HttpResponse::Ok().json(json!({"ok": true, "result": result})),
        Err(refused) => {
            let mut body = Map::new();
            body.insert("ok".to_owned(), false.into());
            body.insert("error_code".to_owned(), refused.code.into());
            body.insert("description".to_owned(), refused.description.into());
            if let Some(seconds) = refused.retry_after {
                let parameters = json!({"retry_after": seconds});
                body.insert("parameters".to_owned(), parameters);
            }
            let status = StatusCode::from_u16(refused.code).expect("a valid status");
            HttpResponse::build(status).json(body)
        }
    }
}
