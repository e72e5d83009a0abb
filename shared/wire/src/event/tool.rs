//! Events of tool calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sandbox::CommandUsage;

/// Data of `tool.started`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolStarted {
    /// The identifier of the tool call in the model's reply.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the tool call.
    pub input: Value,
}

/// Data of `tool.output`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolOutput {
    /// The identifier of the tool call.
    pub call_id: String,
    /// The stream to which the command wrote the text.
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
    /// The identifier of the tool call.
    pub call_id: String,
    /// The outcome of the tool call.
    pub outcome: ToolOutcome,
    /// The output that the model receives.
    pub output: String,
    /// The exit code of the command. Missing if the tool ran no command, or if the command did not exit by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// Whether the output exceeded the limit for the model and was truncated.
    pub truncated: bool,
    /// The resources that the command used. Missing if the tool ran no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<CommandUsage>,
    /// The images that the model received. Their content is kept until the job ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ShownImage>,
}

/// An image in the result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShownImage {
    /// The name of the file, and the part of the file that the image shows.
    pub name: String,
    /// The media type, e.g. `image/png`.
    pub content_type: String,
    /// The SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// The size in bytes.
    pub size: u64,
    /// The width in pixels; 0 if unknown.
    pub width: u32,
    /// The height in pixels; 0 if unknown.
    pub height: u32,
}

/// Data of `images.dropped`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImagesDropped {
    /// The number of images that the model still sees. Older images are no longer shown to the model.
    pub kept: u32,
}

impl ToolCompleted {
    /// The result of a tool call that was unfinished when the job ended.
    pub const UNANSWERED: &str =
        "The job ended before this call had a result. What it did until then may be there in part.";

    /// Returns the result of a tool call that will get no other result.
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

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The call succeeded.
    Ok,
    /// The call failed, and the model received the error.
    Error,
    /// The call reached its time limit.
    Timeout,
    /// A rule or a person denied the call.
    Denied,
    /// The worker was lost during the call. The call may or may not have run.
    Unknown,
    /// The job ended first. The call may have run in part, or not at all.
    Cancelled,
}

impl ToolOutcome {
    /// Returns the name used in the API.
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
