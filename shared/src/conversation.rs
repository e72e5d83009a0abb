//! Conversations: the shared history of successive jobs of an agent.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::event::ToolOutcome;
use crate::id::{ConversationId, JobId};
use crate::message::Block;

/// A history that jobs of an agent continue, one after the other.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Conversation {
    /// The conversation's identifier.
    pub id: ConversationId,
    /// The client's own reference, unique in its tenant.
    #[schema(required)]
    pub external_id: Option<String>,
    /// With which agent.
    pub agent: String,
    /// The title of its first job, or the beginning of that job's prompt; null before its first job.
    #[schema(required)]
    pub title: Option<String>,
    /// Data that the client attached.
    pub metadata: Map<String, Value>,
    /// When it was begun.
    pub created_at: DateTime<Utc>,
}

/// A job's position in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationPosition {
    /// The conversation.
    pub conversation: ConversationId,
    /// Increases with each accepted job.
    pub position: i32,
}

/// A message of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// The job.
    pub job_id: JobId,
    /// Its number in the job's log; 0 for the prompt of the job.
    pub seq: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// The author and the content.
    pub said: Said,
}

/// The content of a message, by its author.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Said {
    /// The person, with the prompt of a job.
    User {
        /// The prompt.
        text: String,
    },
    /// The model.
    Assistant {
        /// Its reply: text, thoughts and calls of tools.
        content: Vec<Block>,
    },
    /// A tool, to the model.
    Tool {
        /// The call that it answers.
        call_id: String,
        /// The outcome of the call.
        outcome: ToolOutcome,
        /// The text for the model.
        output: String,
    },
    /// The model's summary of the messages before some point. It replaces them for the model.
    Summary {
        /// The summary.
        text: String,
    },
}
