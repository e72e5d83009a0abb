//! Responses of an MCP server, read within a size limit.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::SseError;
use shared::sse::SseDecoder;
use sse_stream::Sse;

use super::super::size::{MAX_MESSAGE_BYTES, Size, TooLarge};

/// The reason why a response cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("ended its response early")]
    Broken,
    #[error("sent a response that is too large")]
    TooLarge(#[from] TooLarge),
    #[error("sent a response that is not an MCP message")]
    NoMessage,
}

/// Reads a response that is one message.
pub(super) async fn read(mut response: Response) -> Result<ServerJsonRpcMessage, Unusable> {
    let mut body = Vec::new();
    let mut size = Size::default();
    while let Some(chunk) = response.chunk().await.map_err(|_| Unusable::Broken)? {
        size.add(&chunk)?;
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body).map_err(|_| Unusable::NoMessage)
}

/// Reads a response that is an error message.
pub(super) async fn read_error(response: Response) -> Result<ServerJsonRpcMessage, Unusable> {
    match read(response).await? {
        error @ JsonRpcMessage::Error(_) => Ok(error),
        _ => Err(Unusable::NoMessage),
    }
}

/// A response that consists of events. All of them together may be no larger than one message.
struct Events {
    response: Response,
    decoder: SseDecoder,
    ready: VecDeque<Sse>,
    left: usize,
}

/// Returns the events of a response. An error is the last item.
pub(super) fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let events = Events {
        response,
        decoder: SseDecoder::default(),
        ready: VecDeque::new(),
        left: MAX_MESSAGE_BYTES,
    };
    let next = |mut events: Events| async {
        match events.next().await {
            Ok(event) => Ok(event.map(|event| (event, events))),
            Err(error) => Err(SseError::Body(Box::new(error))),
        }
    };
    stream::try_unfold(events, next).boxed()
}

impl Events {
    async fn next(&mut self) -> Result<Option<Sse>, Unusable> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let chunk = self.response.chunk().await;
            let Some(chunk) = chunk.map_err(|_| Unusable::Broken)? else {
                return Ok(None);
            };
            self.left = self.left.checked_sub(chunk.len()).ok_or(TooLarge)?;
            let decoded = self.decoder.decode(&chunk).map_err(|_| TooLarge)?;
            for event in decoded {
                Size::check(event.data.as_bytes())?;
                let id = (!event.id.is_empty()).then_some(event.id);
                let name = (!event.name.is_empty()).then_some(event.name);
                self.ready.push_back(Sse {
                    event: name,
                    data: Some(event.data),
                    id,
                    retry: None,
                });
            }
        }
    }
}
