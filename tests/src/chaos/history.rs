//! The history of a run. It needs no service, so that tests can write one.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde_json::Value;
use shared::event::is_terminal;

/// What happened in a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What was sent, one key each.
    pub jobs: Vec<JobHistory>,
    /// When it began, and when all of this was known.
    pub span: (DateTime<Utc>, DateTime<Utc>),
    /// How often something was done because of which a worker may lose a job.
    pub losses: usize,
    /// The workers of the next version.
    pub next_version: HashSet<usize>,
    /// How many jobs of a tenant may run at once, for those that have a cap.
    pub caps: HashMap<usize, usize>,
    /// What the model has to say against the requests that it got.
    pub model_violations: Vec<String>,
    /// What the processes did that none should do.
    pub process_violations: Vec<String>,
    /// Uploads that were accepted and could not be read.
    pub lost_files: Vec<String>,
    /// What came to receivers and is not signed.
    pub unverified: Vec<String>,
}

/// One request for a job, with all that came of it.
#[derive(Clone, Debug, Default)]
pub struct JobHistory {
    /// What the client calls it, in the key and in the metadata.
    pub key: String,
    /// Whose it is.
    pub tenant: usize,
    /// Whether only workers of the next version can read its request.
    pub is_of_next_version: bool,
    /// The conversation that it continues.
    pub conversation: Option<String>,
    /// The ids that the API answered with, once an answer.
    pub accepted: Vec<String>,
    /// The ids of all jobs in the database that carry the key.
    pub stored: Vec<String>,
    /// Whether the API said that it would be cancelled.
    pub cancel_accepted: bool,
    /// The job, as its client's API shows it.
    pub job: Value,
    /// The job, as the other APIs show it.
    pub job_elsewhere: Vec<Value>,
    /// The log, as the table has it.
    pub events: Vec<Value>,
    /// The log as it is replayed from each cut.
    pub replays: Vec<Replay>,
    /// What those saw who followed it.
    pub followed: Vec<String>,
    /// What the feed of its tenant has of it.
    pub feed: Vec<Value>,
    /// What the receiver of its tenant accepted of it.
    pub delivered: Vec<Delivered>,
    /// Which processes began its attempts, by the number of the attempt.
    pub starters: HashMap<i64, usize>,
    /// What the model was asked, in order.
    pub asked: Vec<Asked>,
    /// What became of its outputs when they were downloaded.
    pub downloads: Vec<Download>,
    /// Its run, if it still has one.
    pub is_in_queue: bool,
}

/// A log as the API gives it to someone who has all up to a cut.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The last event that the client has.
    pub after: usize,
    /// The events of the stream, byte for byte.
    pub stream: Vec<String>,
    /// The events of the pages.
    pub pages: Vec<Value>,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The process that asked.
    pub worker: usize,
    /// How many replies to this job it handed back.
    pub turn: usize,
}

/// An output that was downloaded.
#[derive(Clone, Debug)]
pub struct Download {
    /// SHA-256 as the job states it.
    pub stated: String,
    /// SHA-256 of what came; why nothing came.
    pub found: Result<String, String>,
}

/// An event that a receiver verified and accepted.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The id of the event.
    pub id: String,
    /// The body.
    pub content: Value,
}

impl JobHistory {
    /// The events of that type, in order.
    pub(crate) fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events
            .iter()
            .filter(move |event| event["type"] == kind)
    }

    /// How often an attempt ended for that cause without ending the job.
    pub(crate) fn retried(&self, cause: &str) -> usize {
        self.of_type("job.retrying")
            .filter(|event| event["data"]["cause"] == cause)
            .count()
    }

    /// Whether the log says that it has.
    pub(crate) fn has_ended(&self) -> bool {
        let last = self.events.last().and_then(|event| event["type"].as_str());
        last.is_some_and(is_terminal)
    }

    /// The attempt that wrote the event.
    pub(crate) fn attempt(event: &Value) -> i64 {
        event["attempt"].as_i64().unwrap_or(-1)
    }
}
