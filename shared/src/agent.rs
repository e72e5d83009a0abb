//! Agents: named, versioned settings with instructions, a model and tools.

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

/// The name of the built-in agent, which every tenant has.
pub const DEFAULT: &str = "default";

/// The version of the built-in agent.
pub const BUILT_IN: i32 = 0;

/// An agent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// The name of the agent.
    #[schema(example = "researcher")]
    pub name: String,
    /// The version. Increases by one with each change. 0 is the built-in agent.
    pub version: i32,
    /// The settings of this version.
    #[serde(flatten)]
    pub settings: AgentSettings,
    /// The creation time of the agent. Null for the built-in agent.
    #[schema(required)]
    pub created_at: Option<DateTime<Utc>>,
    /// The creation time of this version. Null for the built-in agent.
    #[schema(required)]
    pub updated_at: Option<DateTime<Utc>>,
}

/// The settings of an agent.
// Stored as JSON with each version and each job, so a new field needs a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentSettings {
    /// The identity of the agent, in Markdown. It is the beginning of the system prompt.
    #[schema(example = "You are a patient researcher.")]
    pub soul: String,
    /// The model of jobs that name none. In a list, the next model replaces one whose provider is unavailable. Null
    /// for the service's default.
    #[schema(required)]
    pub model: Option<ModelList>,
    /// The names of the agent's tools.
    #[schema(value_type = Vec<String>, example = json!(["shell.exec", "file.read"]))]
    pub tools: Vec<ToolName>,
    /// Rules for tool calls that need approval or that are logged.
    pub hooks: Hooks,
    /// The default limits of the agent's jobs.
    pub limits: AgentLimits,
    /// Instructions for the agent's work, in Markdown. They follow the tools in the system prompt.
    pub instructions: String,
    /// The JSON Schema of the structured result of jobs that have no schema of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<OutputSchema>,
    /// The hosts that the agent's commands can reach: `none`, `public`, or a list of hosts. A host can come from a
    /// secret.
    #[schema(value_type = String, example = "github.com *.githubusercontent.com:443")]
    pub network: Network,
    /// The secrets that the agent's jobs receive, if the tenant has set them. `?` marks an optional secret.
    #[serde(with = "secret_words")]
    #[schema(value_type = Vec<String>, example = json!(["SHOP_API_KEY", "SHOP_ADMIN_KEY?"]))]
    pub secrets: Vec<SecretNeed>,
    /// The names of the skills whose instructions the agent can read.
    #[serde(default)]
    #[schema(required, example = json!(["docx", "spreadsheet"]))]
    pub skills: Vec<String>,
    /// The MCP servers whose tools the agent can use.
    #[serde(default)]
    #[schema(required, value_type = Vec<McpServerSettings>)]
    pub mcp_servers: Vec<McpServer>,
}

/// The default limits of an agent's jobs. Null means the service's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentLimits {
    /// The maximum duration of the agent loop over all attempts, in seconds.
    #[schema(required)]
    pub timeout_seconds: Option<u32>,
    /// The maximum number of model replies. The job then completes with what it has.
    #[schema(required)]
    pub max_iterations: Option<u32>,
    /// The maximum number of tokens of one reply.
    #[schema(required)]
    pub max_tokens: Option<u32>,
    /// The time to answer an approval, in seconds. After it, the approval counts as denied.
    #[serde(default)]
    #[schema(required)]
    pub approval_timeout_seconds: Option<u32>,
    /// The maximum number of tokens read and written for all replies.
    #[serde(default)]
    #[schema(required)]
    pub max_total_tokens: Option<u64>,
    /// The maximum cost of all replies.
    #[serde(default)]
    #[schema(required)]
    pub max_cost_usd: Option<Usd>,
}

/// The agent of a job. Later changes of the agent do not affect it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSnapshot {
    /// The version of the agent.
    pub version: i32,
    /// The settings of this version.
    #[serde(flatten)]
    pub settings: AgentSettings,
}

impl Agent {
    /// Returns the built-in agent. A tenant can replace it with an agent of the same name.
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

    /// Whether the name and version select the built-in agent.
    pub fn is_built_in(name: &str, version: Option<i32>) -> bool {
        name == DEFAULT && version.is_none_or(|version| version == BUILT_IN)
    }

    /// Returns a snapshot of this version for a job.
    pub fn snapshot(&self) -> AgentSnapshot {
        AgentSnapshot {
            version: self.version,
            settings: self.settings.clone(),
        }
    }
}

/// Serialization of secrets in the syntax of skills: `NAME`, or `NAME?` if the secret is optional.
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
