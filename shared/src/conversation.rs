//! Conversations: what successive jobs of an agent share.

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
    /// What the client attached to it.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// When it was begun.
    pub created_at: DateTime<Utc>,
}

/// A job's place in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The conversation.
    pub conversation: ConversationId,
    /// Grows with each job that is accepted.
    pub place: i32,
}

/// Something that was said in a conversation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// In which job.
    pub job_id: JobId,
    /// Where its log has it; 0 for the prompt, with which the job came.
    pub seq: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// By whom, and what.
    pub said: Said,
}

/// What was said, by who said it.
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
        /// How the call went.
        outcome: ToolOutcome,
        /// What the model reads.
        output: String,
    },
    /// The model, of all that was said before some point: it is what it knows of that from then on.
    Summary {
        /// The summary.
        text: String,
    },
}
