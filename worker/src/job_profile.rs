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

/// The most bytes of a tool's output that an agent reads. It can page through the rest.
const AGENT_OUTPUT_BYTES: usize = 50_000;
/// The longest that a command of an agent may run.
const AGENT_COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// The profile of a job.
pub(crate) struct JobProfile {
    pub(crate) instructions: Instructions,
    /// The tools that it gets.
    pub(crate) tools: Vec<ToolName>,
    /// The rules for its calls (approval, audit log): its own and those of the job.
    pub(crate) hooks: Hooks,
    /// The most bytes of a tool's output that the model reads.
    pub(crate) max_output_bytes: usize,
    /// The longest that a command may run.
    pub(crate) command_timeout: Duration,
    /// The network that its commands may reach.
    pub(crate) network: Network,
    /// The secrets that it gets.
    pub(crate) secrets: Vec<SecretNeed>,
    /// The MCP servers whose tools it gets.
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
    /// The profile of a job, from its skill or its agent; `None` if it has neither.
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

    /// The secrets that may be sent to hosts: none, unless the profile names the hosts.
    pub(crate) fn sent_secrets(&self) -> &[SecretNeed] {
        match self.network {
            Network::Hosts(_) => &self.secrets,
            Network::None | Network::Public => &[],
        }
    }

    /// Its skill, unless it is an agent.
    pub(crate) fn skill(&self) -> Option<&Arc<Skill>> {
        match &self.instructions {
            Instructions::Skill(skill) => Some(skill),
            Instructions::Agent { .. } => None,
        }
    }

    /// The files of its skill, if it can look at them.
    pub(crate) fn files(&self) -> Option<&Files> {
        let reads = self.has_shell() || self.tools.contains(&ToolName::FileRead);
        match &self.instructions {
            Instructions::Skill(skill) if reads && skill.files.beside().next().is_some() => {
                Some(&skill.files)
            }
            _ => None,
        }
    }

    /// Whether its skill brings programs of its own.
    pub(crate) fn has_programs(&self) -> bool {
        let mut files = self.files().into_iter().flat_map(Files::beside);
        files.any(|(path, _)| path.as_str().starts_with("bin/"))
    }

    /// Whether it has any tools.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty() || !self.mcp_servers.is_empty()
    }

    /// Whether it makes files for the person who asked.
    pub(crate) fn delivers_files(&self) -> bool {
        self.tools.contains(&ToolName::SetOutput)
    }

    /// Whether a job without outputs has not done what its skill is for.
    pub(crate) fn declares_outputs(&self) -> bool {
        matches!(&self.instructions, Instructions::Skill(skill) if !skill.outputs.is_empty())
    }

    /// Whether it runs commands.
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
