//! The events of a job's log.

mod progress;
mod trimmed;

pub use progress::Progress;
pub use skillet_wire::event::*;
pub use trimmed::mark_trimmed;

use crate::id::JobId;
use crate::stored::UnreadableRow;

/// The data of a stored event, typed.
pub fn parse(event: &Event) -> Result<EventData, UnreadableRow> {
    let data = event.parse();
    data.map_err(|error| UnreadableRow::new("an entry of the job's log", error))
}

/// The job that an event of a stream belongs to, with the event's place in its log.
#[derive(Debug)]
pub struct JobEvent {
    /// The job.
    pub job_id: JobId,
    /// The entry.
    pub event: Event,
}
