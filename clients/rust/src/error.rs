//! The errors of the client.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use skillet_wire::job::Job;
use skillet_wire::problem::Problem;

/// A request that did not succeed, or a job.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL is not that of a service.
    #[error(
        "`{0}` is not the URL of a service: it must begin with http:// or https://, e.g. http://127.0.0.1:8420 \
         (--url, SKILLET_URL)"
    )]
    Url(String),
    /// No key is given.
    #[error("the API key is missing: set SKILLET_API_KEY")]
    MissingKey,
    /// The HTTP client or a request cannot be made, such as for a key that no header can carry.
    #[error("cannot make the request")]
    Setup(#[source] reqwest::Error),
    /// There is no answer.
    #[error("cannot reach {url}")]
    Connection {
        /// The URL of the service.
        url: String,
        /// The cause.
        #[source]
        cause: reqwest::Error,
    },
    /// An answer did not come in time.
    #[error("{url} did not answer for {} s", .waited.as_secs())]
    Timeout {
        /// The URL of the service.
        url: String,
        /// The time.
        waited: Duration,
    },
    /// An event stream ended too early.
    #[error("the event stream of {0} was cut")]
    StreamCut(String),
    /// The service refused the request.
    #[error(transparent)]
    Service(Box<ServiceError>),
    /// An answer is not what the operation returns.
    #[error("the answer of the service cannot be read")]
    Answer(#[source] serde_json::Error),
    /// The answer to a request for an event stream is something else, such as the page of a proxy.
    #[error(
        "the answer is not an event stream but `{0}`: check the URL, and that no proxy answers instead of the service"
    )]
    NotAnEventStream(String),
    /// The job failed or was cancelled.
    #[error("{}", describe(.0))]
    JobFailed(Box<Job>),
    /// A file cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    File {
        /// The verb: `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The content that arrived does not have the SHA-256 of its asset.
    #[error("{name} arrived with SHA-256 {actual}, not {expected}")]
    Checksum {
        /// The name of the asset.
        name: String,
        /// The SHA-256 of what arrived.
        actual: String,
        /// The SHA-256 of the asset.
        expected: String,
    },
}

impl Error {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection { .. } | Self::Timeout { .. } | Self::StreamCut(_) => true,
            Self::Service(refusal) => refusal.is_transient(),
            _ => false,
        }
    }
}

/// An answer of the service that is not a success.
#[derive(Debug)]
pub struct ServiceError {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong. None if something between the client and the service answered.
    pub problem: Option<Problem>,
    /// The time until the next attempt, if the service names it.
    pub retry_after: Option<Duration>,
}

impl ServiceError {
    /// The problem's code, for programs, such as `invalid_request`.
    pub fn code(&self) -> Option<&str> {
        self.problem.as_ref().map(|problem| problem.code.as_str())
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        is_transient(self.status)
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(problem) = &self.problem else {
            return write!(f, "the service answered with {}", self.status);
        };
        f.write_str(&problem.detail)?;
        for field in &problem.errors {
            write!(f, "\n  {}: {}", field.pointer, field.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for ServiceError {}

/// Whether an answer of that status may change.
pub(crate) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

fn describe(job: &Job) -> String {
    match &job.result.error {
        Some(error) => format!("{}: {}", error.code.as_str(), error.message),
        None => format!("the job is {}", job.status.as_str()),
    }
}
