//! The history of a run. It does not depend on a service, so tests can construct one.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde_json::Value;
use shared::event::is_terminal;

/// The recorded history of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The jobs, one for each key.
    pub jobs: Vec<JobHistory>,
    /// The time of the start of the run and the time when its history was complete.
    pub span: (DateTime<Utc>, DateTime<Utc>),
    /// The number of injected faults that could make a worker lose a job.
    pub losses: usize,
    /// The numbers of the workers of the next version.
    pub next_version: HashSet<usize>,
    /// The highest number of concurrent jobs of each tenant that has a cap.
    pub caps: HashMap<usize, usize>,
    /// The violations that the model server found in its requests.
    pub model_violations: Vec<String>,
    /// The violations by processes, such as an unexpected exit.
    pub process_violations: Vec<String>,
    /// Uploads that were accepted but could not be read.
    pub lost_files: Vec<String>,
    /// Webhook deliveries without a valid signature.
    pub unverified: Vec<String>,
}

/// The history of one request for a job.
#[derive(Clone, Debug, Default)]
pub struct JobHistory {
    /// The client's key for the job. It is the idempotency key and is also in the metadata.
    pub key: String,
    /// The number of the tenant that owns the job.
    pub tenant: usize,
    /// Whether only workers of the next version can read the request.
    pub is_of_next_version: bool,
    /// The conversation that the job continues.
    pub conversation: Option<String>,
    /// The job ids in the API's responses, one for each response.
    pub accepted: Vec<String>,
    /// The ids of all jobs in the database that have the key.
    pub stored: Vec<String>,
    /// Whether the API accepted a cancellation.
    pub cancel_accepted: bool,
    /// The job as returned by the client's API.
    pub job: Value,
    /// The job as returned by each of the other APIs.
    pub job_elsewhere: Vec<Value>,
    /// The log as stored in the database.
    pub events: Vec<Value>,
    /// The replay of the log from each cut.
    pub replays: Vec<Replay>,
    /// The events that the follower received.
    pub followed: Vec<String>,
    /// The job's milestones in the feed of its tenant.
    pub feed: Vec<Value>,
    /// The job's deliveries that the receiver of its tenant accepted.
    pub delivered: Vec<Delivered>,
    /// The worker that started each attempt, by attempt number.
    pub starters: HashMap<i64, usize>,
    /// The requests to the model, in order.
    pub asked: Vec<Asked>,
    /// The results of downloading the outputs.
    pub downloads: Vec<Download>,
    /// Whether the job still has a run in the queue.
    pub is_in_queue: bool,
}

/// A log as the API returns it to a client that has all events up to a cut.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The sequence number of the last event that the client has.
    pub after: usize,
    /// The events of the stream, byte for byte.
    pub stream: Vec<String>,
    /// The events of the pages.
    pub pages: Vec<Value>,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The number of the worker that sent the request.
    pub worker: usize,
    /// The number of earlier replies to this job in the request.
    pub turn: usize,
}

/// A downloaded output.
#[derive(Clone, Debug)]
pub struct Download {
    /// The SHA-256 that the job states.
    pub stated: String,
    /// The SHA-256 of the downloaded content, or the error.
    pub found: Result<String, String>,
}

/// An event that a receiver verified and accepted.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The id of the event.
    pub id: String,
    /// The body of the delivery.
    pub content: Value,
}

impl JobHistory {
    /// Returns the events of the given type, in order.
    pub(crate) fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events
            .iter()
            .filter(move |event| event["type"] == kind)
    }

    /// Returns the number of attempts that ended with the cause without ending the job.
    pub(crate) fn retried(&self, cause: &str) -> usize {
        self.of_type("job.retrying")
            .filter(|event| event["data"]["cause"] == cause)
            .count()
    }

    /// Whether the last event of the log is terminal.
    pub(crate) fn has_ended(&self) -> bool {
        let last = self.events.last().and_then(|event| event["type"].as_str());
        last.is_some_and(is_terminal)
    }

    /// Returns the number of the attempt that wrote the event.
    pub(crate) fn attempt(event: &Value) -> i64 {
        event["attempt"].as_i64().unwrap_or(-1)
    }
}
