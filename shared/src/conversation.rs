//! Conversations: the shared history of successive jobs of an agent.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::event::ToolOutcome;
use crate::id::{ConversationId, JobId};
use crate::message::Block;

/// A history that successive jobs of an agent share.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Conversation {
    /// The conversation's identifier.
    pub id: ConversationId,
    /// The client's own reference. It is unique within the tenant.
    #[schema(required)]
    pub external_id: Option<String>,
    /// The name of the agent.
    pub agent: String,
    /// The title of the first job, or the beginning of its prompt. Null before the first job.
    #[schema(required)]
    pub title: Option<String>,
    /// Data that the client attached.
    pub metadata: Map<String, Value>,
    /// The creation time.
    pub created_at: DateTime<Utc>,
}

/// The position of a job in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationPosition {
    /// The conversation.
    pub conversation: ConversationId,
    /// The position. It increases with each accepted job.
    pub position: i32,
}

/// A message of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// The job to which the message belongs.
    pub job_id: JobId,
    /// The number of the message in the job's log. 0 for the job's prompt.
    pub seq: i64,
    /// The time of the message.
    pub at: DateTime<Utc>,
    /// The role and the content.
    pub said: MessageContent,
}

/// The content of a message, by role.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum MessageContent {
    /// The prompt of a job.
    User {
        /// The prompt.
        text: String,
    },
    /// A reply of the model.
    Assistant {
        /// The text, thoughts and tool calls of the reply.
        content: Vec<Block>,
    },
    /// The result of a tool call.
    Tool {
        /// The tool call that this result answers.
        call_id: String,
        /// The outcome of the call.
        outcome: ToolOutcome,
        /// The output that the model receives.
        output: String,
    },
    /// The model's summary of earlier messages. The model receives the summary instead of those messages.
    Summary {
        /// The summary.
        text: String,
    },
}
