//! The errors of the client.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use skillet_wire::job::Job;
use skillet_wire::problem::Problem;

/// An error of the client: a failed request, a file error or a failed job.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL is not a valid `http` or `https` URL.
    #[error(
        "`{0}` is not the URL of a service: it must begin with http:// or https://, e.g. \
         http://127.0.0.1:8420; pass such a URL or set SKILLET_URL"
    )]
    Url(String),
    /// `SKILLET_API_KEY` is not set.
    #[error("the API key is missing: set SKILLET_API_KEY")]
    MissingKey,
    /// The HTTP client or a request cannot be built, for example because the API key is not valid in a header.
    #[error("cannot build the request")]
    Setup(#[source] reqwest::Error),
    /// The connection failed before a complete response was received.
    #[error("cannot reach {url}")]
    Connection {
        /// The URL of the service.
        url: String,
        /// The cause.
        #[source]
        cause: reqwest::Error,
    },
    /// The service sent no data in time.
    #[error("{url} sent no data for {} s", .waited.as_secs())]
    Timeout {
        /// The URL of the service.
        url: String,
        /// The time that the client waited.
        waited: Duration,
    },
    /// The event stream ended unexpectedly.
    #[error("the event stream of {0} was interrupted")]
    StreamCut(String),
    /// The service returned an error response.
    #[error(transparent)]
    Service(Box<ServiceError>),
    /// The response is not the JSON that the operation returns.
    #[error("cannot parse the response of the service")]
    Answer(#[source] serde_json::Error),
    /// The response is not an event stream, for example an HTML page of a proxy.
    #[error(
        "the response is not an event stream but `{0}`: check the URL, and that no proxy responds instead of the service"
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
    /// The SHA-256 of the downloaded content does not match the asset.
    #[error("the downloaded content of {name} has SHA-256 {actual}, not {expected}")]
    Checksum {
        /// The name of the asset.
        name: String,
        /// The SHA-256 of the downloaded content.
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

/// An error response of the service.
#[derive(Debug)]
pub struct ServiceError {
    /// The HTTP status.
    pub status: u16,
    /// The error details. `None` if the body is not a problem of the service, such as a proxy's error page.
    pub problem: Option<Problem>,
    /// The delay from the `Retry-After` header, if present.
    pub retry_after: Option<Duration>,
}

impl ServiceError {
    /// Returns the machine-readable code of the problem, such as `invalid_request`.
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

/// Whether a request with this response status may succeed later.
pub(crate) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

fn describe(job: &Job) -> String {
    match &job.result.error {
        Some(error) => format!("{}: {}", error.code.as_str(), error.message),
        None => format!("the job is {}", job.status.as_str()),
    }
}
