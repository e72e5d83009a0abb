//! Requests for new jobs.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillet_wire::id::ConversationId;
use skillet_wire::money::Usd;

use crate::file::InputFile;

/// A request for a new job, with its input files. The service uses its default for a field that is `None` or empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NewJob {
    /// The skill to run. Set either `skill` or `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The agent to run. Set either `skill` or `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation that an agent's job continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The title in lists. The default is the first line of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Your own reference, such as an order number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The instructions for the model.
    pub prompt: String,
    /// The models as `provider/id`: the preferred model, then fallbacks for when its provider is unavailable.
    #[serde(
        rename = "model",
        with = "one_or_several",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub models: Vec<String>,
    /// Input files. The client uploads them before it creates the job.
    #[serde(skip)]
    pub files: Vec<InputFile>,
    /// The parameters of the skill.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Hooks for tool calls, in addition to those of the skill or the agent.
    pub hooks: JobHooks,
    /// The JSON Schema of the job's `result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The limits of the job.
    pub limits: JobLimits,
    /// The priority within the tenant. Jobs with a higher priority run first.
    pub priority: i16,
    /// The earliest start time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<DateTime<Utc>>,
    /// The number of attempts that may end with an internal fault before the job fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<i16>,
    /// Your own data. The service returns it with the job.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// Hooks for tool calls. Each entry is a tool name or a pattern: `*` matches any characters, `?` matches one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobHooks {
    /// Tools whose calls wait for approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirm: Vec<String>,
    /// Tools whose calls are written to the operator's log with their input and output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Tools whose input stays out of the operator's log. `confirm` and `log` take precedence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

/// The limits of a job. If a limit is `None`, the limit of the skill or the service applies.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobLimits {
    /// The time limit of the whole job in seconds, over all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// The maximum number of model replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// The maximum number of tokens of one model reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The time in seconds after which an unanswered approval counts as denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_timeout_seconds: Option<u32>,
    /// The maximum number of input and output tokens of all model replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_tokens: Option<u64>,
    /// The maximum cost of all model replies, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<Usd>,
}

/// Serialization of a list as a string if it has one entry, else as an array of strings.
mod one_or_several {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrSeveral {
        One(String),
        Several(Vec<String>),
    }

    pub(super) fn serialize<S: Serializer>(
        values: &[String],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match values {
            [only] => only.serialize(serializer),
            several => several.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<String>, D::Error> {
        Ok(match OneOrSeveral::deserialize(deserializer)? {
            OneOrSeveral::One(only) => vec![only],
            OneOrSeveral::Several(several) => several,
        })
    }
}

impl NewJob {
    /// Creates a request for a job of a skill.
    pub fn skill(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            skill: Some(name.into()),
            prompt: prompt.into(),
            ..Self::default()
        }
    }

    /// Creates a request for a job of an agent.
    pub fn agent(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            agent: Some(name.into()),
            prompt: prompt.into(),
            ..Self::default()
        }
    }

    /// Sets the model, such as `script/bash`. Removes models that were set before.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        Self {
            models: vec![model.into()],
            ..self
        }
    }

    /// Adds a fallback model for when the providers of the models before it are unavailable.
    #[must_use]
    pub fn fallback_model(mut self, model: impl Into<String>) -> Self {
        self.models.push(model.into());
        self
    }

    /// Adds an input file: a path, a URL, a name and its content, or an existing asset.
    #[must_use]
    pub fn file(mut self, file: impl Into<InputFile>) -> Self {
        self.files.push(file.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_model_is_a_string_and_several_are_an_array() {
        let job = NewJob::skill("shell", "x").model("a/1");
        assert_eq!(serde_json::to_value(&job).unwrap()["model"], "a/1");
        let job = job.fallback_model("b/2");
        let value = serde_json::to_value(&job).unwrap();
        assert_eq!(value["model"], json!(["a/1", "b/2"]));
        let read: NewJob = serde_json::from_value(value).unwrap();
        assert_eq!(read.models, ["a/1", "b/2"]);
        let plain = serde_json::to_value(NewJob::skill("shell", "x")).unwrap();
        assert!(plain.get("model").is_none());
    }
}
