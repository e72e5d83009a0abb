//! A job's log as it grows.

use futures_util::stream::{Stream, try_unfold};
use skillet_wire::event::Event;
use skillet_wire::id::JobId;

use crate::connection::ServiceConnection;
use crate::error::Error;
use crate::stream::ReconnectingStream;

/// Each event of a job's log once, until the event that ends the log.
///
/// A connection that is closed, lost or silent before that is made again, from the last event that came.
#[must_use = "a job is followed by awaiting `next`"]
pub struct Following {
    stream: ReconnectingStream,
    last_seq: i64,
    has_ended: bool,
}

impl Following {
    pub(crate) fn new(connection: ServiceConnection, job: JobId) -> Self {
        let stream = ReconnectingStream::new(connection, format!("/v1/jobs/{job}/stream"));
        Self {
            stream,
            last_seq: 0,
            has_ended: false,
        }
        .after(0)
    }

    /// Begins after the event of that number.
    pub fn after(mut self, seq: i64) -> Self {
        self.last_seq = seq;
        self.stream.last_id = seq.to_string();
        self
    }

    /// Leaves out live text and live output.
    pub fn without_deltas(mut self) -> Self {
        self.stream.query = vec![("deltas".to_owned(), "false".to_owned())];
        self
    }

    /// The next event; `None` after the last. Types that this version does not know come as they are.
    ///
    /// An error is an answer that will not change, such as 401, 403 or 404. Can be dropped and called again: no event
    /// is lost.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        while !self.has_ended {
            let Some(received) = self.stream.next().await? else {
                self.has_ended = true;
                break;
            };
            match serde_json::from_str::<Event>(&received.data) {
                Ok(event) if event.seq > self.last_seq => {
                    self.last_seq = event.seq;
                    self.stream.accept(event.seq.to_string());
                    self.has_ended = event.is_terminal();
                    return Ok(Some(event));
                }
                Ok(_) => {}
                Err(error) => self.stream.reject(error)?,
            }
        }
        Ok(None)
    }

    /// The events as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<Event, Error>> + Send {
        try_unfold(self, async |mut following| {
            let event = following.next().await?;
            Ok(event.map(|event| (event, following)))
        })
    }
}
