//! The events of a job's log.

mod approval;
#[cfg(feature = "server")]
mod column;
#[cfg(feature = "openapi")]
mod milestone;
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

/// One entry of a job's log, as it is stored and replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Dense from 1.
    pub seq: i64,
    /// The type, e.g. `tool.started`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was committed, by the database's clock.
    pub at: DateTime<Utc>,
    /// The attempt that wrote it; 0 before the first.
    pub attempt: i32,
    /// The data of that type.
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
            /// All types, in the order of a job's life.
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

            /// The type of that name; `None` if this release has no such type.
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
    /// A worker began an attempt.
    JobStarted(JobStarted) = "job.started",
    /// More of the reply's text.
    MessageDelta(TextDelta) = "message.delta",
    /// More of the model's thinking.
    ReasoningDelta(TextDelta) = "reasoning.delta",
    /// A reply, whole.
    MessageCompleted(AssistantMessage) = "message.completed",
    /// The model is about to be asked under a budget.
    BudgetReserved(Reservation) = "budget.reserved",
    /// The reserved call is known to have led to no reply.
    BudgetSettled(BudgetSettled) = "budget.settled",
    /// A tool is about to run.
    ToolStarted(ToolStarted) = "tool.started",
    /// Live output of a running command.
    ToolOutput(ToolOutput) = "tool.output",
    /// A tool has run, or will not.
    ToolCompleted(ToolCompleted) = "tool.completed",
    /// The model no longer sees the older images of tool results.
    ImagesDropped(ImagesDropped) = "images.dropped",
    /// A call waits for a person.
    ApprovalRequested(ApprovalRequested) = "approval.requested",
    /// A person has answered, or none will.
    ApprovalResolved(ApprovalResolved) = "approval.resolved",
    /// A file that the job made is there.
    AssetCreated(AssetCreated) = "asset.created",
    /// A file that the model named is not fit to be an output.
    AssetRejected(AssetRejected) = "asset.rejected",
    /// The workspace can be restored to this point.
    WorkspaceSaved(WorkspaceSaved) = "workspace.saved",
    /// A summary replaces the messages before it.
    ConversationCompacted(ConversationCompacted) = "conversation.compacted",
    /// Something to know.
    Log(LogLine) = "log",
    /// Live output was here, and was removed when its retention ended.
    LogTrimmed(LogTrimmed) = "log.trimmed",
    /// The job has nothing to do until a person answers, and no worker has it.
    JobWaiting(JobWaiting) = "job.waiting",
    /// The job can go on; a worker will take it.
    JobResumed(JobResumed) = "job.resumed",
    /// An attempt ended and another will follow.
    JobRetrying(JobRetrying) = "job.retrying",
    /// The job ended with a result.
    JobCompleted(Box<Job>, Job) = "job.completed",
    /// The job ended with an error.
    JobFailed(Box<Job>, Job) = "job.failed",
    /// The job ended because someone asked for it.
    JobCancelled(Box<Job>, Job) = "job.cancelled",
}

impl EventKind {
    /// Whether it is one of the three types that end a log.
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::JobCompleted | Self::JobFailed | Self::JobCancelled
        )
    }

    /// Whether it is live output, or stands in its place. `?deltas=false` leaves these out.
    pub const fn is_delta(self) -> bool {
        matches!(
            self,
            Self::MessageDelta | Self::ReasoningDelta | Self::ToolOutput | Self::LogTrimmed
        )
    }
}

impl EventData {
    /// The type's name and the data as they are stored.
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
    /// The event's data, typed.
    ///
    /// An error is data that this version of the crate does not know, such as that of a type that was added later.
    pub fn parse(&self) -> serde_json::Result<EventData> {
        let json = format!(r#"{{"type":"{}","data":{}}}"#, self.kind, self.data.get());
        serde_json::from_str(&json)
    }

    /// Whether it ends the log.
    pub fn is_terminal(&self) -> bool {
        is_terminal(&self.kind)
    }
}

/// Whether the name is that of a type that ends a log.
pub fn is_terminal(kind: &str) -> bool {
    EventKind::parse(kind).is_some_and(EventKind::is_terminal)
}

/// Whether the name is that of a type of live output.
pub fn is_delta(kind: &str) -> bool {
    EventKind::parse(kind).is_some_and(EventKind::is_delta)
}

/// Data of `job.queued`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobQueued {
    /// SHA-256 of the request as it was understood.
    pub digest: String,
}

/// Data of `job.started`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobStarted {
    /// 1 for the first.
    pub attempt: i32,
    /// The worker.
    pub worker: WorkerId,
    /// SHA-256 of the skill as this worker has it.
    pub skill_digest: Option<String>,
    /// How the worker isolates commands; missing in old logs.
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
    /// The usage of the call, although it led to no reply.
    pub usage: Tokens,
}

/// Data of `asset.created`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssetCreated {
    /// Its kind.
    pub kind: OutputKind,
    /// The file in the workspace; a later one of the same path replaces it.
    pub path: String,
    /// The asset, which can be downloaded from now on.
    pub asset: Asset,
}

/// Data of `asset.rejected`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssetRejected {
    /// The path as the model wrote it.
    pub path: String,
    /// The problem.
    pub reason: AssetRejection,
}

/// Why a file is not fit to be an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AssetRejection {
    /// There is no such file.
    Missing,
    /// It has no bytes.
    Empty,
    /// It is larger than an output may be.
    TooLarge,
    /// It lies outside the workspace, or a link leads there.
    Outside,
    /// It is a directory, a device, or has other names (hard links).
    NotAFile,
}

/// Data of `workspace.saved`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkspaceSaved {
    /// SHA-256 of the manifest, under which the asset store has it.
    pub manifest: String,
    /// The number of its files.
    pub files: u64,
    /// The number of their bytes.
    pub bytes: u64,
}

/// Data of `conversation.compacted`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationCompacted {
    /// Replaces all earlier messages for the model, except the prompt of the job that `up_to` names.
    pub summary: String,
    /// The last entry that the summary covers.
    pub up_to: LogPlace,
    /// The usage of the summary.
    pub usage: Tokens,
}

/// An entry of a job's log, with all entries before it, also those of earlier jobs of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPlace {
    /// The job.
    pub job: JobId,
    /// The entry's number.
    pub seq: i64,
}

/// Data of `log`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// The severity.
    pub level: LogLevel,
    /// A readable message.
    pub message: String,
}

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Good to know.
    Info,
    /// The result may not be what was wanted.
    Warning,
}

/// Data of `job.retrying`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobRetrying {
    /// The reason why the attempt ended.
    pub cause: RetryCause,
    /// A readable message.
    pub message: String,
    /// When the next may begin.
    pub run_at: DateTime<Utc>,
}

/// A reason why an attempt ends and the job does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RetryCause {
    /// The worker fell silent.
    Crash,
    /// The worker was stopped and released the job.
    Drain,
    /// The model's provider was out of reach.
    ModelOutage,
    /// The model's provider allows no request for some time. It counts as no attempt.
    ProviderPause,
    /// The database was out of reach.
    DatabaseOutage,
    /// The asset store was out of reach.
    StorageOutage,
    /// An internal error.
    Failure,
    /// The job was written by another release than the worker's, which could not read it.
    Unreadable,
}

impl RetryCause {
    /// Its name on the wire.
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
