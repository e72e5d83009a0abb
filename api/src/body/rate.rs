//! The minimum transfer rate of request bodies.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use actix_web::{Error, HttpMessage};
use futures_util::stream::try_unfold;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, timeout};

/// The longest time that a body may stall. A rate below the minimum uses up this allowance gradually.
pub(super) const MAX_STALL: Duration = Duration::from_secs(30);
/// The minimum rate.
pub(super) const MIN_BYTES_PER_SECOND: u32 = 16 * 1024;

/// A request body, shared by its reader and the response.
type Shared = Rc<RefCell<Payload>>;

/// Fails request bodies that arrive too slowly.
///
/// The body is kept until the response is sent. actix-web reads a dropped chunked body to its end, however long that
/// takes. If the unread body still exists, actix-web closes the connection instead.
pub(crate) async fn limit(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let payload = request.take_payload();
    if matches!(payload, Payload::None) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let payload = Rc::new(RefCell::new(payload));
    request.set_payload(Payload::Stream {
        payload: Box::pin(timed(payload.clone())),
    });
    let response = next.call(request).await?.map_into_boxed_body();
    Ok(response.map_body(|_, body| {
        BoxBody::new(ResponseBody {
            body,
            _request: payload,
        })
    }))
}

/// Streams the body, and fails when the sender is too slow. Only the time spent waiting for the sender counts.
fn timed(payload: Shared) -> impl Stream<Item = Result<Bytes, PayloadError>> {
    try_unfold((payload, MAX_STALL), |(payload, patience)| async move {
        let asked_at = Instant::now();
        let next = poll_fn(|context| payload.borrow_mut().poll_next_unpin(context));
        let Ok(next) = timeout(patience, next).await else {
            return Err(PayloadError::Io(ErrorKind::TimedOut.into()));
        };
        let Some(chunk) = next.transpose()? else {
            return Ok(None);
        };
        let patience = patience.saturating_sub(asked_at.elapsed()) + time_of(chunk.len());
        Ok(Some((chunk, (payload, patience.min(MAX_STALL)))))
    })
}

/// Returns the longest time that this number of bytes may take.
fn time_of(bytes: usize) -> Duration {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    Duration::from_secs(1) * bytes / MIN_BYTES_PER_SECOND
}

/// The body of a response, together with the body of its request.
struct ResponseBody {
    body: BoxBody,
    _request: Shared,
}

impl MessageBody for ResponseBody {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;
    use futures_util::stream::{self, LocalBoxStream};

    use super::*;

    fn body(pieces: impl Stream<Item = Result<Bytes, PayloadError>> + 'static) -> Shared {
        let pieces: LocalBoxStream<'static, _> = Box::pin(pieces);
        Rc::new(RefCell::new(Payload::Stream { payload: pieces }))
    }

    /// Sends a body of `pieces` chunks of `bytes` bytes each, one chunk every `seconds`. Returns the number of bytes
    /// read.
    async fn send(bytes: usize, seconds: u64, pieces: usize) -> Result<usize, PayloadError> {
        let pieces = stream::iter(0..pieces).then(move |_| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(Bytes::from(vec![0; bytes]))
        });
        let sizes = timed(body(pieces)).map_ok(|chunk| chunk.len());
        sizes.try_fold(0, async |sum, size| Ok(sum + size)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_take_long_but_not_crawl() {
        // Each chunk adds back the time that it took.
        assert_eq!(send(160 * 1024, 10, 100).await.unwrap(), 16_384_000);
        assert_eq!(send(1, 29, 1).await.unwrap(), 1);
        for slow in [send(1, 1, 100).await, send(1 << 20, 31, 2).await] {
            let error = slow.unwrap_err();
            assert!(
                matches!(&error, PayloadError::Io(error) if error.kind() == ErrorKind::TimedOut),
                "{error}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_the_reader_takes_is_not_the_senders() {
        let pieces = ["a", "b"].map(|piece| Ok(Bytes::from(piece)));
        let mut body = Box::pin(timed(body(stream::iter(pieces))));
        assert_eq!(body.next().await.unwrap().unwrap(), "a");
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(body.next().await.unwrap().unwrap(), "b");
    }
}
