//! A transport that passes nothing but responses from an MCP server.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use rmcp::RoleClient;
use rmcp::model::{ClientResult, ErrorCode, ErrorData, JsonRpcMessage, ServerRequest};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::timeout;

/// Replies to a server that are on their way. Requests beyond that get no reply.
const MAX_REPLIES: usize = 16;
/// The most messages of a server that answer nothing; then it is not listened to any more.
const MAX_NOISE: u32 = 100_000;
/// How long it may take to close the way. After it, it is dropped.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// A way to a server on which only its answers come through.
///
/// What it asks for itself (a model's reply, a person's words, directories) is declined here, and what it tells
/// without being asked is dropped: so no number of messages makes work, or heaps of it, behind this.
pub(super) struct ResponseOnlyTransport<T> {
    inner: T,
    replies: FuturesUnordered<BoxFuture<'static, ()>>,
    noise: u32,
}

impl<T> ResponseOnlyTransport<T> {
    pub(super) fn new(inner: T) -> Self {
        Self {
            inner,
            replies: FuturesUnordered::new(),
            noise: 0,
        }
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for ResponseOnlyTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = tokio::select! {
                message = self.inner.receive() => message?,
                Some(()) = self.replies.next(), if !self.replies.is_empty() => continue,
            };
            match message {
                JsonRpcMessage::Request(asked) if self.replies.len() < MAX_REPLIES => {
                    let reply = match asked.request {
                        ServerRequest::PingRequest(_) => {
                            JsonRpcMessage::response(ClientResult::empty(()), asked.id)
                        }
                        _ => JsonRpcMessage::error(declined(), Some(asked.id)),
                    };
                    let sending = self.inner.send(reply);
                    self.replies.push(sending.map(|_| ()).boxed());
                }
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
                answer => return Some(answer),
            }
            self.noise += 1;
            if self.noise > MAX_NOISE {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // One that is stuck, because the server does not read, holds what closing needs.
        self.replies.clear();
        let closing = timeout(CLOSE_PATIENCE, self.inner.close()).await;
        closing.unwrap_or(Ok(()))
    }
}

fn declined() -> ErrorData {
    let words = "this client answers tools' servers nothing but pings";
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None)
}
