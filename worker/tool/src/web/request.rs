//! The tool `http.request`.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Request, Url};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Number, Value};
use shared::secret::{SecretNeed, placeholder};
use shared::tool::ToolName;
use tokio::time::timeout;

use super::reach::Reach;
use super::response::HttpAnswer;
use crate::call::{Call, Done, Tool, ToolError};
use crate::context::ToolContext;
use worker_model::ToolSpec;
use worker_workspace::JobSecrets;

/// Header fields that belong to the connection, or that are derived from the request.
const OURS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The maximum number of header fields, and of values in the query.
const MAX_FIELDS: usize = 100;

/// Sends a request to an API.
pub(crate) struct HttpRequest {
    /// The names of secrets that may be sent.
    secrets: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct RequestArguments {
    /// The method.
    method: RequestMethod,
    /// Where to, with http:// or https://.
    url: String,
    /// Header fields by name.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Values to add to the URL's query, by name; a list gives a name several times. They are escaped.
    #[serde(default)]
    query: BTreeMap<String, Values>,
    /// The body: text is sent as it is, all else as JSON.
    #[schemars(extend("type" = ["string", "object", "array", "null"], "items" = {}))]
    body: Option<Value>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum RequestMethod {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Values {
    One(Scalar),
    Many(Vec<Scalar>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Scalar {
    Text(String),
    Number(Number),
    Flag(bool),
}

impl HttpRequest {
    pub(crate) fn new(secrets: &[SecretNeed]) -> Self {
        let names = secrets.iter().map(|need| need.name.as_str().to_owned());
        Self {
            secrets: names.collect(),
        }
    }
}

impl Tool for HttpRequest {
    fn spec(&self) -> ToolSpec {
        let mut description =
            "Sends one HTTP request and returns JSON: status, headers, body. Any status is a result, not an error. \
             Redirects are not followed. Of a long body the head and the tail are shown; it is whole in the workspace \
             file that body_file names, and so is a body that is no text. Private addresses are refused. \
             content-type is set by the body unless you set it."
                .to_owned();
        if !self.secrets.is_empty() {
            description += &format!(
                " Where a header or a query value needs a secret, write {{{{secret:NAME}}}}, for example \
                 \"Bearer {{{{secret:{}}}}}\": the value is put in as the request leaves. There are: {}.",
                self.secrets[0],
                self.secrets.join(", ")
            );
        }
        ToolSpec {
            name: ToolName::HttpRequest.as_str().into(),
            description,
            input_schema: schema_for!(RequestArguments).into(),
        }
    }

    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        Duration::from_secs(30)
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let arguments: RequestArguments = call.arguments()?;
            let reach = Reach::of(call.context);
            let asking = async {
                let request = arguments.request(&reach, call.context.secrets)?;
                HttpAnswer::read(reach.client.send(request).await?).await
            };
            match timeout(call.timeout, asking).await {
                Ok(Ok(answer)) => Ok(answer.tell(&call).await),
                Ok(Err(text)) => Err(ToolError::Reply(text)),
                Err(_) => {
                    let seconds = call.timeout.as_secs();
                    Ok(Done {
                        timed_out: true,
                        ..Done::error(format!("there was no response within {seconds} s"))
                    })
                }
            }
        })
    }
}

impl RequestArguments {
    /// Returns the request, if it may be sent. An error is for the model.
    fn request(self, reach: &Reach<'_>, secrets: &JobSecrets) -> Result<Request, String> {
        let fill = |text: &str| {
            if !placeholder::is_in(text) {
                return Ok(text.to_owned());
            }
            if !reach.is_declared() {
                return Err(
                    "secrets are only sent to hosts that the skill declares, and it declares none"
                        .to_owned(),
                );
            }
            secrets.fill(text).map_err(|error| error.to_string())
        };
        if placeholder::is_in(&self.url) {
            return Err("secrets go into header and query values, not into the URL".to_owned());
        }
        let mut url = reach.parse(&self.url)?;
        add_query(&mut url, self.query, fill)?;
        let mut request = Request::new(self.method.into(), url);
        *request.headers_mut() = header_fields(self.headers, fill)?;
        if let Some(body) = self.body {
            let (bytes, content_type) = match body {
                Value::String(text) => (text, "text/plain; charset=utf-8"),
                json => (json.to_string(), "application/json"),
            };
            *request.body_mut() = Some(bytes.into());
            let headers = request.headers_mut();
            let content_type = HeaderValue::from_static(content_type);
            headers.entry(CONTENT_TYPE).or_insert(content_type);
        }
        Ok(request)
    }
}

fn add_query(
    url: &mut Url,
    query: BTreeMap<String, Values>,
    fill: impl Fn(&str) -> Result<String, String>,
) -> Result<(), String> {
    let pairs: Vec<(String, Scalar)> = query
        .into_iter()
        .flat_map(|(name, values)| {
            let values = match values {
                Values::One(value) => vec![value],
                Values::Many(values) => values,
            };
            values.into_iter().map(move |value| (name.clone(), value))
        })
        .collect();
    if pairs.is_empty() {
        return Ok(());
    }
    if pairs.len() > MAX_FIELDS {
        return Err(format!("the query has more than {MAX_FIELDS} values"));
    }
    let mut query = url.query_pairs_mut();
    for (name, value) in pairs {
        let value = match value {
            Scalar::Text(text) => fill(&text)?,
            Scalar::Number(number) => number.to_string(),
            Scalar::Flag(flag) => flag.to_string(),
        };
        query.append_pair(&name, &value);
    }
    Ok(())
}

fn header_fields(
    fields: BTreeMap<String, String>,
    fill: impl Fn(&str) -> Result<String, String>,
) -> Result<HeaderMap, String> {
    if fields.len() > MAX_FIELDS {
        return Err(format!("there are more than {MAX_FIELDS} headers"));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let lower = name.trim().to_ascii_lowercase();
        if OURS.contains(&lower.as_str()) {
            return Err(format!(
                "the header {lower} cannot be set: it is generated from the request"
            ));
        }
        let name = HeaderName::from_bytes(lower.as_bytes())
            .map_err(|_| format!("`{name}` is not a valid header name"))?;
        // The error does not repeat the value, which may be a secret.
        let value = HeaderValue::from_str(&fill(&value)?).map_err(|_| {
            format!("the value of the header {name} contains line breaks or control characters")
        })?;
        headers.append(name, value);
    }
    Ok(headers)
}

impl From<RequestMethod> for Method {
    fn from(verb: RequestMethod) -> Self {
        match verb {
            RequestMethod::Get => Self::GET,
            RequestMethod::Head => Self::HEAD,
            RequestMethod::Post => Self::POST,
            RequestMethod::Put => Self::PUT,
            RequestMethod::Patch => Self::PATCH,
            RequestMethod::Delete => Self::DELETE,
            RequestMethod::Options => Self::OPTIONS,
        }
    }
}
