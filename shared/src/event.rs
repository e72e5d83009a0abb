//! The log of a job: what its events are.

mod approval;
mod tool;

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

pub use approval::{ApprovalRequested, ApprovalResolved, JobResumed, JobWaiting, WaitReason};
pub use tool::{OutputStream, ToolCompleted, ToolOutcome, ToolOutput, ToolStarted};

use crate::asset::Asset;
use crate::id::{JobId, WorkerId};
use crate::job::{Job, OutputKind, Reservation};
use crate::message::{AssistantMessage, Tokens};
use crate::sandbox::Isolation;
use crate::stored::UnreadableRow;

/// One entry of a job's log, as it is stored and replayed.
#[derive(Debug, Serialize, Deserialize)]
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
    /// What the type says.
    pub data: Box<RawValue>,
}

/// A type of events, with the schema of its data.
pub struct EventType {
    /// Its name, e.g. `tool.started`.
    pub name: &'static str,
    /// The name of its data's schema.
    pub data_schema: fn() -> Cow<'static, str>,
    /// Collects that schema and all that it refers to.
    pub collect_schemas: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl EventType {
    const fn of<T: ToSchema>(name: &'static str) -> Self {
        Self {
            name,
            data_schema: T::name,
            collect_schemas: |schemas| {
                schemas.push((T::name().into_owned(), T::schema()));
                T::schemas(schemas);
            },
        }
    }
}

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
        /// What an event says, by type.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "type", content = "data")]
        pub enum EventData {
            $($(#[$doc])* #[serde(rename = $name)] $variant($data),)*
        }

        impl EventData {
            /// All types, in the order of a job's life.
            pub const TYPES: &'static [EventType] = &[$(EventType::of::<schema_of!($data $(, $schema)?)>($name),)*];
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
    /// What was reserved is known to have led to no reply.
    BudgetSettled(BudgetSettled) = "budget.settled",
    /// A tool is about to run.
    ToolStarted(ToolStarted) = "tool.started",
    /// Live output of a running command.
    ToolOutput(ToolOutput) = "tool.output",
    /// A tool has run, or will not.
    ToolCompleted(ToolCompleted) = "tool.completed",
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
    /// What was said before has become a summary.
    ConversationCompacted(ConversationCompacted) = "conversation.compacted",
    /// Something to know.
    Log(LogLine) = "log",
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

impl EventData {
    /// The type's name and the data as they are stored.
    pub fn to_stored(&self) -> (String, String) {
        #[derive(Deserialize)]
        struct Stored<'a> {
            r#type: &'a str,
            #[serde(borrow)]
            data: &'a RawValue,
        }
        let json = serde_json::to_string(self).expect("events have string keys");
        let stored: Stored = serde_json::from_str(&json).expect("an event is {type, data}");
        (stored.r#type.to_owned(), stored.data.get().to_owned())
    }
}

impl Event {
    /// The event's data, typed.
    pub fn parse(&self) -> Result<EventData, UnreadableRow> {
        let json = format!(r#"{{"type":"{}","data":{}}}"#, self.kind, self.data.get());
        serde_json::from_str(&json)
            .map_err(|error| UnreadableRow::new("an entry of the job's log", error))
    }
}

/// Whether the type is one of the three that end a log.
pub fn is_terminal(kind: &str) -> bool {
    matches!(kind, "job.completed" | "job.failed" | "job.cancelled")
}

/// Whether the type is live output, which `?deltas=false` leaves out.
pub fn is_delta(kind: &str) -> bool {
    matches!(kind, "message.delta" | "reasoning.delta" | "tool.output")
}

/// Data of `job.queued`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JobQueued {
    /// SHA-256 of the request as it was understood.
    pub digest: String,
}

/// Data of `job.started`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JobStarted {
    /// 1 for the first.
    pub attempt: i32,
    /// The worker.
    pub worker: WorkerId,
    /// SHA-256 of the skill as this worker has it.
    pub skill_digest: Option<String>,
    /// How the worker confines commands; missing in logs from before it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
}

/// Data of `message.delta` and `reasoning.delta`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TextDelta {
    /// The text to append.
    pub text: String,
}

/// Data of `budget.settled`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BudgetSettled {
    /// What the call has used all the same.
    pub usage: Tokens,
}

/// Data of `asset.created`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AssetCreated {
    /// Its kind.
    pub kind: OutputKind,
    /// The file in the workspace; a later one of the same path replaces it.
    pub path: String,
    /// The asset, which can be downloaded from now on.
    pub asset: Asset,
}

/// Data of `asset.rejected`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AssetRejected {
    /// The path as the model wrote it.
    pub path: String,
    /// What is wrong with it.
    pub reason: AssetRejection,
}

/// Why a file is not fit to be an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetRejection {
    /// There is no such file.
    Missing,
    /// It has no bytes.
    Empty,
    /// It is larger than an output may be.
    TooLarge,
    /// Its content is not of the kind that was announced.
    WrongType,
    /// It lies outside the workspace, or a link leads there.
    Outside,
    /// It is a directory, a device, or has other names (hard links).
    NotAFile,
}

/// Data of `workspace.saved`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceSaved {
    /// SHA-256 of the manifest, under which the asset store has it.
    pub manifest: String,
    /// How many files it lists.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Data of `conversation.compacted`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ConversationCompacted {
    /// What the model has in place of all that was said before, but for the prompt of the job that
    /// `up_to` names.
    pub summary: String,
    /// The last entry that the summary covers.
    pub up_to: LogPlace,
    /// What the summary cost.
    pub usage: Tokens,
}

/// An entry of a job's log, and with it all before it: in that log, and in those of earlier jobs of the
/// conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPlace {
    /// The job.
    pub job: JobId,
    /// The entry's number.
    pub seq: i64,
}

/// Data of `log`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// How much it matters.
    pub level: LogLevel,
    /// In words.
    pub message: String,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Good to know.
    Info,
    /// The result may not be what was wanted.
    Warning,
}

/// Data of `job.retrying`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JobRetrying {
    /// What ended the attempt.
    pub cause: RetryCause,
    /// In words.
    pub message: String,
    /// When the next may begin.
    pub run_at: DateTime<Utc>,
}

/// What can end an attempt without ending the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryCause {
    /// The worker fell silent.
    Crash,
    /// The worker was told to stop, and handed the job back.
    Drain,
    /// The model's provider was out of reach.
    ModelOutage,
    /// The database was out of reach.
    DatabaseOutage,
    /// The asset store was out of reach.
    StorageOutage,
    /// A fault of ours.
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
            Self::DatabaseOutage => "database_outage",
            Self::StorageOutage => "storage_outage",
            Self::Failure => "failure",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The job that an event of a stream belongs to, with the event's place in its log.
#[derive(Debug)]
pub struct JobEvent {
    /// The job.
    pub job_id: JobId,
    /// The entry.
    pub event: Event,
}
