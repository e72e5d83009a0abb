//! Events of tool calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sandbox::CommandUsage;

/// Data of `tool.started`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolStarted {
    /// The call in the reply.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

/// Data of `tool.output`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolOutput {
    /// The call.
    pub call_id: String,
    /// The stream to which the command wrote it.
    pub stream: OutputStream,
    /// The text to append.
    pub text: String,
}

/// An output stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Data of `tool.completed`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCompleted {
    /// The call.
    pub call_id: String,
    /// The outcome.
    pub outcome: ToolOutcome,
    /// The text for the model.
    pub output: String,
    /// The command's exit code, if it was one and ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// Whether the output was larger than what the model reads.
    pub truncated: bool,
    /// The resources that the command used, if the tool ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<CommandUsage>,
    /// The images that the model looked at. Their content is kept until the job ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ShownImage>,
}

/// An image that the model looked at as a part of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShownImage {
    /// The file, and the part of it.
    pub name: String,
    /// The media type, e.g. `image/png`.
    pub content_type: String,
    /// SHA-256 of the content.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Data of `images.dropped`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImagesDropped {
    /// The number of images that the model still sees; the older ones are no longer shown.
    pub kept: u32,
}

impl ToolCompleted {
    /// The result of an unfinished call whose job has ended.
    pub const UNANSWERED: &str =
        "The job ended before this call had a result. What it did until then may be there in part.";

    /// The result of a call that will have no other.
    pub fn unanswered(call_id: String) -> Self {
        Self {
            call_id,
            outcome: ToolOutcome::Cancelled,
            output: Self::UNANSWERED.to_owned(),
            exit_code: None,
            duration_ms: 0,
            truncated: false,
            usage: None,
            images: Vec::new(),
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It did what it should.
    Ok,
    /// It failed, and the model received the error.
    Error,
    /// Its time ran out.
    Timeout,
    /// A rule or a person forbade it.
    Denied,
    /// Its worker was lost in between: it may or may not have run.
    Unknown,
    /// The job ended first: it may have run in part, or not at all.
    Cancelled,
}

impl ToolOutcome {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Denied => "denied",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }
}
