//! A transport that passes only responses from an MCP server.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use rmcp::RoleClient;
use rmcp::model::{ClientResult, ErrorCode, ErrorData, JsonRpcMessage, ServerRequest};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::timeout;

/// The maximum number of replies to a server that are in progress. Further requests get no reply.
const MAX_REPLIES: usize = 16;
/// The maximum number of messages of a server that are not responses. After that, the transport ends.
const MAX_NON_RESPONSES: u32 = 100_000;
/// The timeout of closing the transport. After it, the transport is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A transport that passes only a server's responses.
///
/// Requests of the server (for a model's reply, a person's input or directories) are declined here, and notifications
/// are dropped. No number of such messages can cause work or use memory behind this transport.
pub(super) struct ResponseOnlyTransport<T> {
    inner: T,
    replies: FuturesUnordered<BoxFuture<'static, ()>>,
    non_responses: u32,
}

impl<T> ResponseOnlyTransport<T> {
    pub(super) fn new(inner: T) -> Self {
        Self {
            inner,
            replies: FuturesUnordered::new(),
            non_responses: 0,
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
            self.non_responses += 1;
            if self.non_responses > MAX_NON_RESPONSES {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // If the server does not read, a reply is stuck and holds resources that closing needs.
        self.replies.clear();
        let closing = timeout(CLOSE_TIMEOUT, self.inner.close()).await;
        closing.unwrap_or(Ok(()))
    }
}

fn declined() -> ErrorData {
    let words = "this client answers only pings";
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None)
}
