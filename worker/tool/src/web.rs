//! Tools that ask servers. Every address is judged, at every hop; a skill that names hosts gets no others.

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

/// The most of an answer that a tool of ours reads, unpacked.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// An answer to a tool of ours.
pub(super) struct Got {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Whether there was more.
    pub(super) is_cut: bool,
}

/// Asks a host that the job may reach. An error is for the model.
pub(super) async fn get(call: &Call<'_>, url: Url, headers: HeaderMap) -> Result<Got, String> {
    let reach = Reach::of(call.context);
    reach.check(&url)?;
    let mut request = Request::new(Method::GET, url);
    *request.headers_mut() = headers;
    let asking = async {
        let response = reach.client.send(request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let DecodedBody { bytes, is_cut } = DecodedBody::read(response, MAX_BYTES).await?;
        Ok(Got {
            status,
            headers,
            body: bytes,
            is_cut,
        })
    };
    let seconds = call.timeout.as_secs();
    let late = |_| format!("the answer did not come within {seconds} s");
    timeout(call.timeout, asking).await.map_err(late)?
}
