//! The notes that tell a model that its job is about to reach a limit.

use std::time::{Duration, Instant};

use shared::limits::Limits;

/// The number of remaining replies at which the model gets a note.
const LAST_REPLIES: u32 = 2;
/// The part of the job's time that remains when the model gets a note, as a divisor.
const LAST_PART: u32 = 5;

/// The notes of a job. The model gets each of them once.
pub(crate) struct WrapUp {
    max_iterations: u32,
    deadline: Instant,
    last_part: Duration,
    delivers_files: bool,
    told_replies: bool,
    told_time: bool,
}

impl WrapUp {
    /// Creates the notes of a job that must end at `deadline`.
    pub(crate) fn new(limits: &Limits, deadline: Instant, delivers_files: bool) -> Self {
        Self {
            max_iterations: limits.max_iterations,
            deadline,
            last_part: Duration::from_secs(limits.timeout_seconds.into()) / LAST_PART,
            delivers_files,
            told_replies: false,
            told_time: false,
        }
    }

    /// Returns the note for the next request after `replies` replies, if there is one.
    pub(crate) fn note(&mut self, replies: u32) -> Option<String> {
        let left = self.max_iterations.saturating_sub(replies);
        let time = self.deadline.saturating_duration_since(Instant::now());
        // At the start there is nothing to deliver.
        let what = if replies == 0 {
            return None;
        } else if left <= LAST_REPLIES && !self.told_replies {
            self.told_replies = true;
            format!("{left} of {} replies are left", self.max_iterations)
        } else if time <= self.last_part && !self.told_time {
            self.told_time = true;
            format!("{} seconds are left", time.as_secs())
        } else {
            return None;
        };
        let files = match self.delivers_files {
            true => " Give the files with `set_output` now, even if they are not perfect.",
            false => "",
        };
        Some(format!(
            "[Note: {what}, then the task ends.{files} Finish with what you have, and say what is missing.]"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap_up(max_iterations: u32, left: Duration) -> WrapUp {
        let limits = Limits {
            max_iterations,
            timeout_seconds: 100,
            ..Limits::DEFAULT
        };
        WrapUp::new(&limits, Instant::now() + left, true)
    }

    #[test]
    fn the_last_two_replies_are_announced_once() {
        let mut notes = wrap_up(4, Duration::from_secs(90));
        assert_eq!((notes.note(0), notes.note(1)), (None, None));
        let note = notes.note(2).unwrap();
        assert!(note.starts_with("[Note: 2 of 4 replies are left"), "{note}");
        assert!(note.contains("`set_output`"), "{note}");
        assert_eq!(notes.note(3), None);
    }

    #[test]
    fn the_last_fifth_of_the_time_is_announced_once() {
        let mut notes = wrap_up(40, Duration::from_secs(19));
        assert_eq!(notes.note(0), None);
        assert!(notes.note(1).unwrap().contains("seconds are left"));
        assert_eq!(notes.note(2), None);
        assert_eq!(wrap_up(40, Duration::from_secs(60)).note(1), None);
    }
}
