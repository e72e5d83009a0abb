//! HEAD requests: the response to GET without its content (RFC 9110, section 9.3.2).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use actix_web::{Error, HttpMessage, HttpRequest};

/// Handles HEAD requests as GET, and omits the content of the response.
pub(crate) async fn answer(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if *request.method() != Method::HEAD {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    request.head_mut().method = Method::GET;
    request.extensions_mut().insert(IsHead);
    let response = next.call(request).await?;
    Ok(response.map_body(|_, body| BoxBody::new(SizeOnly(body.size()))))
}

/// Marks a HEAD request that a handler sees as GET.
struct IsHead;

/// Whether the request of a handler is a HEAD request.
pub(crate) fn is(request: &HttpRequest) -> bool {
    request.extensions().contains::<IsHead>()
}

/// A body that has a size but sends no content.
struct SizeOnly(BodySize);

impl MessageBody for SizeOnly {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(None)
    }
}
