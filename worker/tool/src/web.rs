//! Tools that send requests to servers. Every address is checked, at every hop. A skill that names
//! hosts can reach no others.

mod body;
mod fetch;
mod html;
mod reach;
mod request;
mod response;
mod text;

pub(super) use fetch::WebFetch;
pub(super) use request::HttpRequest;

use reqwest::header::HeaderMap;
use reqwest::{Method, Request, StatusCode, Url};
use tokio::time::timeout;

use crate::call::Call;
use body::DecodedBody;
use reach::Reach;

/// The maximum number of decoded bytes of a response that a built-in tool reads.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// A response to a built-in tool.
pub(super) struct ToolHttpResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Whether the body was longer than the maximum.
    pub(super) is_cut: bool,
}

/// Requests a URL of a host that the job may reach. An error is for the model.
pub(super) async fn get(
    call: &Call<'_>,
    url: Url,
    headers: HeaderMap,
) -> Result<ToolHttpResponse, String> {
    let reach = Reach::of(call.context);
    reach.check(&url)?;
    let mut request = Request::new(Method::GET, url);
    *request.headers_mut() = headers;
    let asking = async {
        let response = reach.client.send(request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let DecodedBody { bytes, is_cut } = DecodedBody::read(response, MAX_BYTES).await?;
        Ok(ToolHttpResponse {
            status,
            headers,
            body: bytes,
            is_cut,
        })
    };
    let seconds = call.timeout.as_secs();
    let late = |_| format!("there was no response within {seconds} s");
    timeout(call.timeout, asking).await.map_err(late)?
}
