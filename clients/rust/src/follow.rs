//! The live log of a job.

use futures_util::stream::{Stream, try_unfold};
use skillet_wire::event::Event;
use skillet_wire::id::JobId;

use crate::connection::ServiceConnection;
use crate::error::Error;
use crate::stream::ReconnectingStream;

/// The events of a job's log. Returns each event once and ends after the last one.
///
/// Reconnects after a connection is closed, lost or silent, and continues after the last event received.
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

    /// Starts after the event with this sequence number.
    pub fn after(mut self, seq: i64) -> Self {
        self.last_seq = seq;
        self.stream.last_id = seq.to_string();
        self
    }

    /// Excludes deltas: live text and live output.
    pub fn without_deltas(mut self) -> Self {
        self.stream.query = vec![("deltas".to_owned(), "false".to_owned())];
        self
    }

    /// Returns the next event, or `None` after the last one. Event types that this version does not support are
    /// returned unparsed.
    ///
    /// Reconnects after transient errors, up to [`Timing::stream_attempts`](crate::Timing::stream_attempts) times.
    /// Returns permanent errors, such as 401, 403 or 404. The future is cancel safe: dropping it loses no event.
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

    /// Converts the events to a [`Stream`].
    pub fn into_stream(self) -> impl Stream<Item = Result<Event, Error>> + Send {
        try_unfold(self, async |mut following| {
            let event = following.next().await?;
            Ok(event.map(|event| (event, following)))
        })
    }
}
