//! The live milestones of all jobs of a tenant.

use futures_util::stream::{Stream, try_unfold};
use skillet_wire::feed::FeedEvent;
use skillet_wire::id::ConversationId;

use crate::connection::ServiceConnection;
use crate::error::Error;
use crate::stream::ReconnectingStream;

/// The SSE event type of an event that has only a cursor.
const CURSOR: &str = "cursor";

/// The milestones of the tenant's jobs. Returns each milestone once and does not end.
///
/// Reconnects after a connection is closed, lost or silent, and continues after the last event received.
#[must_use = "the stream is read by awaiting `next`"]
pub struct TenantEvents {
    stream: ReconnectingStream,
}

/// A position in the stream, with its milestone if there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantEvent {
    /// The position. Pass it to [`TenantEvents::after`] to continue after this event.
    pub cursor: String,
    /// The milestone. `None` at the start of the stream, and periodically while no milestone matches the filters.
    pub event: Option<FeedEvent>,
}

impl TenantEvents {
    pub(crate) fn new(connection: ServiceConnection) -> Self {
        let stream = ReconnectingStream::new(connection, "/v1/events/stream".to_owned());
        Self { stream }
    }

    /// Starts after a cursor instead of now.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.stream.last_id = cursor.into();
        self
    }

    /// Filters by event type, such as `job.completed`.
    pub fn types<T: AsRef<str>>(self, types: impl IntoIterator<Item = T>) -> Self {
        let types: Vec<_> = types.into_iter().map(|it| it.as_ref().to_owned()).collect();
        self.only("types", types.join(","))
    }

    /// Filters by skill.
    pub fn skill(self, name: impl Into<String>) -> Self {
        self.only("skill", name)
    }

    /// Filters by agent.
    pub fn agent(self, name: impl Into<String>) -> Self {
        self.only("agent", name)
    }

    /// Filters by conversation.
    pub fn conversation(self, id: ConversationId) -> Self {
        self.only("conversation_id", id.to_string())
    }

    /// Filters by a metadata value. The service accepts up to three metadata filters.
    pub fn metadata(self, key: &str, value: impl Into<String>) -> Self {
        self.only(&format!("metadata.{key}"), value)
    }

    fn only(mut self, name: &str, value: impl Into<String>) -> Self {
        self.stream.query.push((name.to_owned(), value.into()));
        self
    }

    /// Returns the next milestone or cursor. Event types that this version does not support are returned unparsed.
    ///
    /// Reconnects after transient errors, up to [`Timing::stream_attempts`](crate::Timing::stream_attempts) times.
    /// Returns permanent errors, such as 401, 403 or 410 `cursor_expired`. The future is cancel safe: dropping it
    /// loses no milestone.
    pub async fn next(&mut self) -> Result<TenantEvent, Error> {
        loop {
            let received = self.stream.next().await?;
            let received = received.ok_or_else(|| self.stream.cut())?;
            if received.id == self.stream.last_id {
                continue;
            }
            let event = match received.name.as_str() {
                CURSOR => Ok(None),
                _ => serde_json::from_str(&received.data).map(Some),
            };
            match event {
                Ok(event) => {
                    let cursor = received.id;
                    self.stream.accept(cursor.clone());
                    return Ok(TenantEvent { cursor, event });
                }
                Err(error) => self.stream.reject(error)?,
            }
        }
    }

    /// Converts the milestones and cursors to a [`Stream`].
    pub fn into_stream(self) -> impl Stream<Item = Result<TenantEvent, Error>> + Send {
        try_unfold(self, async |mut events| {
            let event = events.next().await?;
            Ok(Some((event, events)))
        })
    }
}
