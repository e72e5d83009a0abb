//! Jobs to be submitted.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillet_wire::id::ConversationId;
use skillet_wire::money::Usd;

use crate::file::InputFile;

/// A job to be done, with files to start from. A field that is `None` or empty has the service's default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NewJob {
    /// The skill to run. Exactly one of `skill` and `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The agent to run. Exactly one of `skill` and `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation that an agent's job continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// What lists show of the job; the first line of the prompt if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Your own reference, such as an order number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What is wanted.
    pub prompt: String,
    /// The models as `provider/id`: the first choice, and the fallbacks for when its provider is out of reach.
    #[serde(
        rename = "model",
        with = "one_or_several",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub models: Vec<String>,
    /// Files to start from. They are uploaded first.
    #[serde(skip)]
    pub files: Vec<InputFile>,
    /// The parameters of the skill.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Rules for calls of tools, beside those of the skill or the agent.
    pub hooks: JobHooks,
    /// The JSON Schema of the job's `result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What the job may use up.
    pub limits: JobLimits,
    /// Higher goes first within the tenant.
    pub priority: i16,
    /// The earliest start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<DateTime<Utc>>,
    /// How often a fault of the service may end an attempt before the job fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<i16>,
    /// Your own data, which is returned with the job.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// Rules for calls of tools. A tool is named exactly, or by a pattern in which `*` stands for any characters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobHooks {
    /// Calls that wait for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirm: Vec<String>,
    /// Calls that are logged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Calls without a rule, although an earlier rule names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

/// What a job may use up. A limit that is `None` is that of the skill or the service.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobLimits {
    /// Seconds for the whole job, over all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// Replies of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Tokens of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Seconds that a call waits for a person before it counts as denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_timeout_seconds: Option<u32>,
    /// Tokens of all replies, with what the model read for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_tokens: Option<u64>,
    /// The most that all replies may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<Usd>,
}

/// A string, or an array of strings if there are several.
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
    /// A job of a skill.
    pub fn skill(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            skill: Some(name.into()),
            prompt: prompt.into(),
            ..Self::default()
        }
    }

    /// A job of an agent.
    pub fn agent(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            agent: Some(name.into()),
            prompt: prompt.into(),
            ..Self::default()
        }
    }

    /// The same with a model, such as `script/bash`.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        Self {
            models: vec![model.into()],
            ..self
        }
    }

    /// The same with one more model, which replaces those before it when their providers are out of reach.
    #[must_use]
    pub fn fallback_model(mut self, model: impl Into<String>) -> Self {
        self.models.push(model.into());
        self
    }

    /// The same with another file: a path, a URL, a name with its content, or an asset that the service has.
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
