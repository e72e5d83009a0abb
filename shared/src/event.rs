//! The events of a job's log.

mod progress;
mod trimmed;

pub use progress::Progress;
pub use skillet_wire::event::*;
pub use trimmed::mark_trimmed;

use crate::id::JobId;
use crate::stored::UnreadableRow;

/// Parses the data of a stored event.
pub fn parse(event: &Event) -> Result<EventData, UnreadableRow> {
    let data = event.parse();
    data.map_err(|error| UnreadableRow::new("an entry of the job's log", error))
}

/// An event with its job.
#[derive(Debug)]
pub struct JobEvent {
    /// The job.
    pub job_id: JobId,
    /// The event, with its position in the job's log.
    pub event: Event,
}
