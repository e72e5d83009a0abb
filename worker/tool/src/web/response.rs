//! The response of an API as the model reads it.

use std::collections::BTreeMap;

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode};
use serde::Serialize;
use shared::asset::content_type_of;

use super::body::DecodedBody;
use super::text::{ContentKind, decode, essence, kind_of};
use crate::call::{Call, Done};
use worker_workspace::HeadTailBuffer;
use worker_workspace::Spill;

/// The maximum number of decoded bytes of a body that are read.
const MAX_BYTES: usize = 10 * 1024 * 1024;
/// The maximum number of header fields that are shown, and the maximum size of each.
const MAX_FIELDS: usize = 50;
const MAX_VALUE_BYTES: usize = 1000;
/// The maximum size of all header fields that are shown.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// A response that has been read.
pub(super) struct HttpAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: DecodedBody,
}

/// The reply that the model reads.
#[derive(Serialize)]
struct ResponseReply<'a> {
    status: u16,
    headers: BTreeMap<&'a str, String>,
    body: String,
    /// The file with the whole body, if the body is not text or longer than is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl HttpAnswer {
    /// Reads a response to its end, or up to the maximum size. An error is for the model.
    pub(super) async fn read(response: Response) -> Result<Self, String> {
        Ok(Self {
            status: response.status(),
            headers: response.headers().clone(),
            body: DecodedBody::read(response, MAX_BYTES).await?,
        })
    }

    /// Returns the result for the model. A body that is not text, or is longer than is shown, goes into a file.
    pub(super) async fn tell(self, call: &Call<'_>) -> Done {
        let content_type = self.headers.get(CONTENT_TYPE);
        let content_type = content_type.map_or_else(String::new, |value| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        });
        let mut notes = Vec::new();
        let DecodedBody { bytes, is_cut } = self.body;
        let (mut body, mut body_file) = (String::new(), None);
        let mut truncated = is_cut;
        if kind_of(&content_type, &bytes) == ContentKind::Binary && !bytes.is_empty() {
            body_file = keep(call.spill_bytes("body.bin"), &bytes).await;
            let kind = content_type_of("", &bytes);
            notes.push(format!(
                "the body is not text: {} bytes, {kind}",
                bytes.len()
            ));
        } else {
            // Redacted before it is cut, because a value that is cut in two would not be recognised.
            let text = decode(&content_type, &bytes);
            let text = call.context.events.redact(&text);
            let shown = call.shown_bytes() / 2;
            if text.len() > shown {
                let name = format!("body.{}", extension(&content_type));
                body_file = keep(call.spill_bytes(&name), text.as_bytes()).await;
                truncated = true;
            }
            let mut buffer = HeadTailBuffer::new(shown);
            buffer.push(text.as_bytes());
            body = buffer.finish().text;
        }
        if is_cut {
            notes.push(format!(
                "only the first {MAX_BYTES} bytes of the body were read"
            ));
        }
        if self.status.is_redirection() && self.headers.contains_key(LOCATION) {
            notes
                .push("redirects are not followed: request the location if you need it".to_owned());
        }
        let room = MAX_HEAD_BYTES.min(call.shown_bytes() / 2);
        let redact = |text: &str| call.context.events.redact(text).into_owned();
        let headers = fields(&self.headers, room, redact, &mut notes);
        let told = ResponseReply {
            status: self.status.as_u16(),
            headers,
            body,
            body_file,
            note: (!notes.is_empty()).then(|| notes.join("\n")),
        };
        Done {
            truncated,
            is_cut_json: true,
            ..Done::text(serde_json::to_string(&told).expect("answers have string keys"))
        }
    }
}

/// Stores a body in a file of the workspace, if that is possible.
async fn keep(mut spill: Spill, bytes: &[u8]) -> Option<String> {
    spill.push(bytes).await;
    spill.finish().await.map(|spilled| spilled.path)
}

fn extension(content_type: &str) -> &'static str {
    let essence = essence(content_type);
    let known = ["json", "html", "xml", "csv"];
    let found = known.into_iter().find(|name| essence.ends_with(name));
    found.unwrap_or("txt")
}

/// Returns the header fields, as far as there is room for them. Values of the same name are joined.
fn fields<'a>(
    headers: &'a HeaderMap,
    mut room: usize,
    redact: impl Fn(&str) -> String,
    notes: &mut Vec<String>,
) -> BTreeMap<&'a str, String> {
    let mut fields = BTreeMap::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter();
        let values: Vec<_> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        // Redacted before it is cut.
        let mut joined = redact(&values.join(", "));
        if joined.len() > MAX_VALUE_BYTES {
            joined.truncate(joined.floor_char_boundary(MAX_VALUE_BYTES));
            joined.push('…');
        }
        let length = name.as_str().len() + joined.len();
        if fields.len() < MAX_FIELDS && length <= room {
            room -= length;
            fields.insert(name.as_str(), joined);
        }
    }
    let left_out = headers.keys_len() - fields.len();
    if left_out > 0 {
        notes.push(format!("{left_out} more headers are left out"));
    }
    fields
}
