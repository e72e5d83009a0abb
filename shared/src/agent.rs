//! Agents: instructions, model and tools under a name, in versions.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::hook::Hooks;
use crate::job::OutputSchema;
use crate::mcp::{McpServer, McpServerSettings};
use crate::model_list::ModelList;
use crate::money::Usd;
use crate::secret::SecretNeed;
use crate::skill::Network;
use crate::tool::ToolName;

/// The name of the agent that every tenant has without making it.
pub const DEFAULT: &str = "default";

/// The version of the agent that is built in.
pub const BUILT_IN: i32 = 0;

/// An agent as its owner sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// Its name.
    #[schema(example = "researcher")]
    pub name: String,
    /// Grows by one with each change. 0 is the one that is built in.
    pub version: i32,
    /// Its settings.
    #[serde(flatten)]
    pub settings: AgentSettings,
    /// When it was made; null for the one that is built in.
    #[schema(required)]
    pub created_at: Option<DateTime<Utc>>,
    /// When this version was made.
    #[schema(required)]
    pub updated_at: Option<DateTime<Utc>>,
}

/// What an agent is. Stored as JSON, in its versions and with each job that runs it, so a field that is
/// added later needs a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentSettings {
    /// Who it is: the beginning of the system prompt, in Markdown.
    #[schema(example = "You are a patient researcher.")]
    pub soul: String,
    /// The model of its jobs that name none, or several, of which the next replaces one whose provider is out of reach;
    /// null for the service's default.
    #[schema(required)]
    pub model: Option<ModelList>,
    /// The tools that it has, by name.
    #[schema(value_type = Vec<String>, example = json!(["shell.exec", "file.read"]))]
    pub tools: Vec<ToolName>,
    /// Rules for calls that need approval or write a log line.
    pub hooks: Hooks,
    /// Default limits of its jobs.
    pub limits: AgentLimits,
    /// How it is to work: Markdown that stands in the system prompt after the tools.
    pub instructions: String,
    /// The JSON Schema of the result of its jobs that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<OutputSchema>,
    /// What of the network its commands may reach: `none`, `public`, or hosts, some of them from a secret.
    #[schema(value_type = String, example = "github.com *.githubusercontent.com:443")]
    pub network: Network,
    /// The secrets that its jobs are handed, if the tenant has set them; `?` marks what they can do without.
    #[serde(with = "secret_words")]
    #[schema(value_type = Vec<String>, example = json!(["SHOP_API_KEY", "SHOP_ADMIN_KEY?"]))]
    pub secrets: Vec<SecretNeed>,
    /// The skills whose instructions it can read, by name.
    #[serde(default)]
    #[schema(required, example = json!(["docx", "spreadsheet"]))]
    pub skills: Vec<String>,
    /// The MCP servers whose tools it has, too.
    #[serde(default)]
    #[schema(required, value_type = Vec<McpServerSettings>)]
    pub mcp_servers: Vec<McpServer>,
}

/// What the jobs of an agent may use up; null leaves it to the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentLimits {
    /// Seconds for the whole loop, over all attempts.
    #[schema(required)]
    pub timeout_seconds: Option<u32>,
    /// Replies of the model before the loop ends with what it has.
    #[schema(required)]
    pub max_iterations: Option<u32>,
    /// Tokens of one reply.
    #[schema(required)]
    pub max_tokens: Option<u32>,
    /// Seconds that a call waits for a person before it counts as denied.
    #[serde(default)]
    #[schema(required)]
    pub approval_timeout_seconds: Option<u32>,
    /// Tokens of all replies, with what the model read for them.
    #[serde(default)]
    #[schema(required)]
    pub max_total_tokens: Option<u64>,
    /// The most that all replies may cost.
    #[serde(default)]
    #[schema(required)]
    pub max_cost_usd: Option<Usd>,
}

/// An agent as a job runs it, whatever becomes of it meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSnapshot {
    /// The version.
    pub version: i32,
    /// The settings of that version.
    #[serde(flatten)]
    pub settings: AgentSettings,
}

impl Agent {
    /// The agent that every tenant has who has not put another in its place.
    pub fn built_in() -> Self {
        Self {
            name: DEFAULT.to_owned(),
            version: BUILT_IN,
            settings: AgentSettings {
                soul: include_str!("agent/soul.md").trim().to_owned(),
                model: None,
                tools: ToolName::GENERAL.to_vec(),
                hooks: Hooks::default(),
                limits: AgentLimits::default(),
                instructions: String::new(),
                output_schema: None,
                network: Network::None,
                secrets: Vec::new(),
                skills: Vec::new(),
                mcp_servers: Vec::new(),
            },
            created_at: None,
            updated_at: None,
        }
    }

    /// Whether it is the one that is built in, asked for by name and version.
    pub fn is_built_in(name: &str, version: Option<i32>) -> bool {
        name == DEFAULT && version.is_none_or(|version| version == BUILT_IN)
    }

    /// The agent as a job runs it.
    pub fn snapshot(&self) -> AgentSnapshot {
        AgentSnapshot {
            version: self.version,
            settings: self.settings.clone(),
        }
    }
}

/// Secrets as skills declare them: `NAME`, and `NAME?` for what is not required.
mod secret_words {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::secret::SecretNeed;

    pub(super) fn serialize<S: Serializer>(
        secrets: &[SecretNeed],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(secrets.iter().map(SecretNeed::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<SecretNeed>, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        let secrets = words.iter().map(|word| SecretNeed::parse(word));
        secrets.collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soul_of_the_built_in_agent_names_no_tool() {
        let soul = Agent::built_in().settings.soul;
        for tool in ToolName::ALL {
            assert!(!soul.contains(tool.as_str()), "{tool}");
        }
    }

    #[test]
    fn what_is_stored_of_an_agent_is_read_as_it_was() {
        let mut settings = Agent::built_in().settings;
        settings.network = Network::parse(["github.com", "secret:API_URL"]).unwrap();
        settings.secrets = vec![
            SecretNeed::parse("API_URL").unwrap(),
            SecretNeed::parse("KEY?").unwrap(),
        ];
        let stored = serde_json::to_value(&settings).unwrap();
        assert_eq!(stored["network"], "github.com secret:API_URL");
        assert_eq!(stored["secrets"], serde_json::json!(["API_URL", "KEY?"]));
        assert_eq!(
            serde_json::from_value::<AgentSettings>(stored).unwrap(),
            settings
        );
    }
}
