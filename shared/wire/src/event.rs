//! The events of a job's log.

mod approval;
#[cfg(feature = "server")]
mod column;
#[cfg(feature = "openapi")]
mod milestone;
#[cfg(feature = "openapi")]
mod schema;
mod tool;
mod trimmed;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

pub use approval::{
    ApprovalRequested, ApprovalResolved, ApprovalStatus, JobResumed, JobWaiting, WaitReason,
};
#[cfg(feature = "openapi")]
pub use schema::EventType;
pub use tool::{
    ImagesDropped, OutputStream, ShownImage, ToolCompleted, ToolOutcome, ToolOutput, ToolStarted,
};
pub use trimmed::LogTrimmed;

use crate::asset::{Asset, OutputKind};
use crate::id::{JobId, WorkerId};
use crate::job::{Job, Reservation};
use crate::message::{AssistantMessage, Tokens};
use crate::sandbox::Isolation;

/// An event of a job's log, as it is stored and replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The number of the event in the log: 1, 2, 3 and so on, without gaps.
    pub seq: i64,
    /// The type, such as `tool.started`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When the event was committed, by the database's clock.
    pub at: DateTime<Utc>,
    /// The attempt that wrote the event; 0 before the first attempt.
    pub attempt: i32,
    /// The data. Its schema depends on the type.
    pub data: Box<serde_json::value::RawValue>,
}

#[cfg(feature = "openapi")]
macro_rules! schema_of {
    ($data:ty) => {
        $data
    };
    ($data:ty, $schema:ty) => {
        $schema
    };
}

macro_rules! event_data {
    ($($(#[$doc:meta])* $variant:ident($data:ty $(, $schema:ty)?) = $name:literal,)*) => {
        /// The data of an event, by type.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "type", content = "data")]
        pub enum EventData {
            $($(#[$doc])* #[serde(rename = $name)] $variant($data),)*
        }

        impl EventData {
            /// All types, in the order in which they occur in a job.
            #[cfg(feature = "openapi")]
            pub const TYPES: &'static [EventType] = &[$(EventType::of::<schema_of!($data $(, $schema)?)>($name),)*];

            /// The type of the event.
            pub fn kind(&self) -> EventKind {
                match self {
                    $(Self::$variant(_) => EventKind::$variant,)*
                }
            }
        }

        /// The type of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventKind {
            $($(#[$doc])* $variant,)*
        }

        impl EventKind {
            /// The name of the type.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the type with this name, or `None` if this release does not know it.
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

event_data! {
    /// The job was accepted.
    JobQueued(JobQueued) = "job.queued",
    /// A worker started an attempt.
    JobStarted(JobStarted) = "job.started",
    /// Live text of the model's reply.
    MessageDelta(TextDelta) = "message.delta",
    /// Live text of the model's reasoning.
    ReasoningDelta(TextDelta) = "reasoning.delta",
    /// A complete reply of the model.
    MessageCompleted(AssistantMessage) = "message.completed",
    /// An amount was reserved before a model call under a budget.
    BudgetReserved(Reservation) = "budget.reserved",
    /// The reserved model call ended without a reply.
    BudgetSettled(BudgetSettled) = "budget.settled",
    /// A tool call is about to run.
    ToolStarted(ToolStarted) = "tool.started",
    /// Live output of a running command.
    ToolOutput(ToolOutput) = "tool.output",
    /// A tool call ended, or will not run.
    ToolCompleted(ToolCompleted) = "tool.completed",
    /// The model no longer sees the older images of tool results.
    ImagesDropped(ImagesDropped) = "images.dropped",
    /// A tool call waits for the decision of a person.
    ApprovalRequested(ApprovalRequested) = "approval.requested",
    /// An approval was decided, expired or was cancelled.
    ApprovalResolved(ApprovalResolved) = "approval.resolved",
    /// A file that the job made became an output.
    AssetCreated(AssetCreated) = "asset.created",
    /// A file that the model named cannot be an output.
    AssetRejected(AssetRejected) = "asset.rejected",
    /// The workspace can be restored to this point.
    WorkspaceSaved(WorkspaceSaved) = "workspace.saved",
    /// A summary replaces the earlier messages.
    ConversationCompacted(ConversationCompacted) = "conversation.compacted",
    /// A message about the job.
    Log(LogLine) = "log",
    /// Stands for live output that was removed when its retention ended.
    LogTrimmed(LogTrimmed) = "log.trimmed",
    /// The job waits for the decision of a person and uses no worker.
    JobWaiting(JobWaiting) = "job.waiting",
    /// The job can continue and waits for a worker.
    JobResumed(JobResumed) = "job.resumed",
    /// An attempt ended and another one will follow.
    JobRetrying(JobRetrying) = "job.retrying",
    /// The job ended with a result.
    JobCompleted(Box<Job>, Job) = "job.completed",
    /// The job ended with an error.
    JobFailed(Box<Job>, Job) = "job.failed",
    /// The job ended because it was cancelled.
    JobCancelled(Box<Job>, Job) = "job.cancelled",
}

impl EventKind {
    /// Whether this is one of the three types that end a log.
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::JobCompleted | Self::JobFailed | Self::JobCancelled
        )
    }

    /// Whether this is live output, or `log.trimmed` in its place. `?deltas=false` omits these types.
    pub const fn is_delta(self) -> bool {
        matches!(
            self,
            Self::MessageDelta | Self::ReasoningDelta | Self::ToolOutput | Self::LogTrimmed
        )
    }
}

impl EventData {
    /// Returns the name of the type and the data, as they are stored.
    pub fn to_stored(&self) -> (String, String) {
        #[derive(Deserialize)]
        struct Stored<'a> {
            #[serde(borrow)]
            data: &'a serde_json::value::RawValue,
        }
        let json = serde_json::to_string(self).expect("events have string keys");
        let stored: Stored = serde_json::from_str(&json).expect("an event is {type, data}");
        (
            self.kind().as_str().to_owned(),
            stored.data.get().to_owned(),
        )
    }
}

impl Event {
    /// Returns the typed data of the event.
    ///
    /// Returns an error if this version of the crate does not know the data, for example if its type was added later.
    pub fn parse(&self) -> serde_json::Result<EventData> {
        let json = format!(r#"{{"type":"{}","data":{}}}"#, self.kind, self.data.get());
        serde_json::from_str(&json)
    }

    /// Whether the event ends the log.
    pub fn is_terminal(&self) -> bool {
        is_terminal(&self.kind)
    }
}

/// Whether this is the name of a type that ends a log.
pub fn is_terminal(kind: &str) -> bool {
    EventKind::parse(kind).is_some_and(EventKind::is_terminal)
}

/// Whether this is the name of a type that `?deltas=false` omits.
pub fn is_delta(kind: &str) -> bool {
    EventKind::parse(kind).is_some_and(EventKind::is_delta)
}

/// Data of `job.queued`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobQueued {
    /// The SHA-256 of the parsed request, in hexadecimal.
    pub digest: String,
}

/// Data of `job.started`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobStarted {
    /// The number of the attempt, from 1.
    pub attempt: i32,
    /// The worker that runs the attempt.
    pub worker: WorkerId,
    /// The SHA-256 of the skill, as this worker has it. Null for a job of an agent.
    pub skill_digest: Option<String>,
    /// The isolation of commands on the worker; missing in old logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// Data of `message.delta` and `reasoning.delta`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TextDelta {
    /// The text to append.
    pub text: String,
}

/// Data of `budget.settled`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BudgetSettled {
    /// The usage of the call that ended without a reply.
    pub usage: Tokens,
}

/// Data of `asset.created`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssetCreated {
    /// The kind of the file.
    pub kind: OutputKind,
    /// The path in the workspace. A later event with the same path replaces this one.
    pub path: String,
    /// The asset. Its content can be downloaded from now on.
    pub asset: Asset,
}

/// Data of `asset.rejected`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssetRejected {
    /// The path as the model wrote it.
    pub path: String,
    /// The reason.
    pub reason: AssetRejection,
}

/// The reason why a file cannot be an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AssetRejection {
    /// The file does not exist.
    Missing,
    /// The file is empty.
    Empty,
    /// The file is larger than the limit for outputs.
    TooLarge,
    /// The file is outside the workspace, or a link leads outside.
    Outside,
    /// The path is a directory or a device, or the file has several hard links.
    NotAFile,
}

/// Data of `workspace.saved`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkspaceSaved {
    /// The SHA-256 of the manifest, which is its key in the asset store.
    pub manifest: String,
    /// The number of files.
    pub files: u64,
    /// The total size of the files in bytes.
    pub bytes: u64,
}

/// Data of `conversation.compacted`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationCompacted {
    /// The summary. It replaces all earlier messages for the model, except the prompt of the job in `up_to`.
    pub summary: String,
    /// The last event that the summary covers.
    pub up_to: LogPlace,
    /// The usage of the model call that wrote the summary.
    pub usage: Tokens,
}

/// An event of a job's log, with all events before it, including those of earlier jobs of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPlace {
    /// The job.
    pub job: JobId,
    /// The `seq` of the event.
    pub seq: i64,
}

/// Data of `log`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// The severity.
    pub level: LogLevel,
    /// The message, for people.
    pub message: String,
}

/// The severity of a `log` event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For information.
    Info,
    /// The result may differ from what was requested.
    Warning,
}

/// Data of `job.retrying`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobRetrying {
    /// The reason why the attempt ended.
    pub cause: RetryCause,
    /// The message, for people.
    pub message: String,
    /// When the next attempt may start.
    pub run_at: DateTime<Utc>,
}

/// The reason why an attempt ended and another one follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RetryCause {
    /// The worker stopped responding.
    Crash,
    /// The worker was stopped and released the job.
    Drain,
    /// The provider of the model was unavailable.
    ModelOutage,
    /// The provider of the model accepts no requests for some time. Does not count as an attempt.
    ProviderPause,
    /// The database was unavailable.
    DatabaseOutage,
    /// The asset store was unavailable.
    StorageOutage,
    /// An internal error.
    Failure,
    /// The job was stored by another release than the worker's, and the worker could not read it.
    Unreadable,
}

impl RetryCause {
    /// Returns the name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Drain => "drain",
            Self::ModelOutage => "model_outage",
            Self::ProviderPause => "provider_pause",
            Self::DatabaseOutage => "database_outage",
            Self::StorageOutage => "storage_outage",
            Self::Failure => "failure",
            Self::Unreadable => "unreadable",
        }
    }
}
