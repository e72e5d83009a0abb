//! The milestones of all jobs of the tenant as they come.

use futures_util::stream::{Stream, try_unfold};
use skillet_wire::feed::FeedEvent;
use skillet_wire::id::ConversationId;

use crate::connection::ServiceConnection;
use crate::error::Error;
use crate::stream::ReconnectingStream;

/// The type of an event that has only a cursor.
const CURSOR: &str = "cursor";

/// Each milestone of the tenant's jobs once. It does not end by itself.
///
/// A connection that is closed, lost or silent is made again, from the last event that came.
#[must_use = "the stream is read by awaiting `next`"]
pub struct TenantEvents {
    stream: ReconnectingStream,
}

/// A place in the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantEvent {
    /// Continues the stream after this place, as [`TenantEvents::after`].
    pub cursor: String,
    /// The milestone. `None` where the stream begins, and now and then while the filters let nothing through.
    pub event: Option<FeedEvent>,
}

impl TenantEvents {
    pub(crate) fn new(connection: ServiceConnection) -> Self {
        let stream = ReconnectingStream::new(connection, "/v1/events/stream".to_owned());
        Self { stream }
    }

    /// Begins after that cursor, instead of now.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.stream.last_id = cursor.into();
        self
    }

    /// Only these types, such as `job.completed`.
    pub fn types<T: AsRef<str>>(self, types: impl IntoIterator<Item = T>) -> Self {
        let types: Vec<_> = types.into_iter().map(|it| it.as_ref().to_owned()).collect();
        self.only("types", types.join(","))
    }

    /// Only jobs of this skill.
    pub fn skill(self, name: impl Into<String>) -> Self {
        self.only("skill", name)
    }

    /// Only jobs of this agent.
    pub fn agent(self, name: impl Into<String>) -> Self {
        self.only("agent", name)
    }

    /// Only jobs of this conversation.
    pub fn conversation(self, id: ConversationId) -> Self {
        self.only("conversation_id", id.to_string())
    }

    /// Only jobs whose metadata has this value under this key. May be called three times.
    pub fn metadata(self, key: &str, value: impl Into<String>) -> Self {
        self.only(&format!("metadata.{key}"), value)
    }

    fn only(mut self, name: &str, value: impl Into<String>) -> Self {
        self.stream.query.push((name.to_owned(), value.into()));
        self
    }

    /// The next milestone or cursor. Types that this version does not know come as they are.
    ///
    /// An error is an answer that will not change, such as 401, 403, or 410 `cursor_expired`. Can be dropped and called
    /// again: no milestone is lost.
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

    /// The milestones and cursors as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<TenantEvent, Error>> + Send {
        try_unfold(self, async |mut events| {
            let event = events.next().await?;
            Ok(Some((event, events)))
        })
    }
}
