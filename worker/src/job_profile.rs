//! The profile of a job: the tools, rules, network and secrets of its skill or agent, as the loop needs them.

use std::sync::Arc;
use std::time::Duration;

use shared::agent::AgentSettings;
use shared::db::claim::Claimed;
use shared::hook::Hooks;
use shared::mcp::McpServer;
use shared::secret::SecretNeed;
use shared::skill::{Files, Network, Skill};
use shared::tool::ToolName;

/// The maximum number of bytes of a tool's output that an agent reads. The agent can page through the rest.
const AGENT_OUTPUT_BYTES: usize = 50_000;
/// The maximum duration of an agent's command.
const AGENT_COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// The profile of a job.
pub(crate) struct JobProfile {
    pub(crate) instructions: Instructions,
    /// The tools of the job.
    pub(crate) tools: Vec<ToolName>,
    /// The rules for tool calls (approval, audit log), from the profile and from the job.
    pub(crate) hooks: Hooks,
    /// The maximum number of bytes of a tool's output that the model reads.
    pub(crate) max_output_bytes: usize,
    /// The maximum duration of a command.
    pub(crate) command_timeout: Duration,
    /// The network that commands may reach.
    pub(crate) network: Network,
    /// The secrets of the job.
    pub(crate) secrets: Vec<SecretNeed>,
    /// The MCP servers whose tools the job gets.
    pub(crate) mcp_servers: Vec<McpServer>,
}

/// The instructions of a skill or an agent.
pub(crate) enum Instructions {
    /// The instructions and files of a skill.
    Skill(Arc<Skill>),
    /// The persona and the instructions of an agent. Both may be empty.
    Agent { soul: String, instructions: String },
}

impl JobProfile {
    /// Creates the profile of a job from its skill or agent. Returns `None` if the job has neither.
    pub(crate) fn of(claimed: &Claimed, skill: Option<&Arc<Skill>>) -> Option<Self> {
        let agent = claimed.request.agent.as_ref();
        let profile = match skill {
            Some(skill) => Some(Self {
                hooks: skill.hooks_for(&claimed.request.parameters),
                ..Self::from(skill)
            }),
            None => agent.map(|agent| Self::from(&agent.settings)),
        }?;
        Some(Self {
            hooks: profile.hooks.and(&claimed.request.hooks),
            ..profile
        })
    }

    /// Returns the secrets that may be sent to hosts. There are none unless the profile names the hosts.
    pub(crate) fn sent_secrets(&self) -> &[SecretNeed] {
        match self.network {
            Network::Hosts(_) => &self.secrets,
            Network::None | Network::Public => &[],
        }
    }

    /// Returns the skill, unless the job runs an agent.
    pub(crate) fn skill(&self) -> Option<&Arc<Skill>> {
        match &self.instructions {
            Instructions::Skill(skill) => Some(skill),
            Instructions::Agent { .. } => None,
        }
    }

    /// Returns the files of the skill, if the job can read them.
    pub(crate) fn files(&self) -> Option<&Files> {
        let reads = self.has_shell() || self.tools.contains(&ToolName::FileRead);
        match &self.instructions {
            Instructions::Skill(skill) if reads && skill.files.beside().next().is_some() => {
                Some(&skill.files)
            }
            _ => None,
        }
    }

    /// Whether the skill contains programs of its own.
    pub(crate) fn has_programs(&self) -> bool {
        let mut files = self.files().into_iter().flat_map(Files::beside);
        files.any(|(path, _)| path.as_str().starts_with("bin/"))
    }

    /// Whether the job has any tools.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty() || !self.mcp_servers.is_empty()
    }

    /// Whether the job can deliver files as outputs.
    pub(crate) fn delivers_files(&self) -> bool {
        self.tools.contains(&ToolName::SetOutput)
    }

    /// Whether the skill declares outputs, so that a job without outputs is incomplete.
    pub(crate) fn declares_outputs(&self) -> bool {
        matches!(&self.instructions, Instructions::Skill(skill) if !skill.outputs.is_empty())
    }

    /// Whether the job can run commands.
    pub(crate) fn has_shell(&self) -> bool {
        self.tools.contains(&ToolName::ShellExec)
    }
}

impl From<&Arc<Skill>> for JobProfile {
    fn from(skill: &Arc<Skill>) -> Self {
        Self {
            instructions: Instructions::Skill(skill.clone()),
            tools: skill.tools.clone(),
            hooks: skill.hooks.clone(),
            max_output_bytes: skill.max_output_chars,
            command_timeout: Duration::from_secs(skill.command_seconds.into()),
            network: skill.network.clone(),
            secrets: skill.secrets.clone(),
            mcp_servers: Vec::new(),
        }
    }
}

impl From<&AgentSettings> for JobProfile {
    fn from(agent: &AgentSettings) -> Self {
        Self {
            instructions: Instructions::Agent {
                soul: agent.soul.clone(),
                instructions: agent.instructions.clone(),
            },
            tools: agent.tools.clone(),
            hooks: agent.hooks.clone(),
            max_output_bytes: AGENT_OUTPUT_BYTES,
            command_timeout: AGENT_COMMAND_TIMEOUT,
            network: agent.network.clone(),
            secrets: agent.secrets.clone(),
            mcp_servers: agent.mcp_servers.clone(),
        }
    }
}
