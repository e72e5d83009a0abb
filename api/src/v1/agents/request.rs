//! The request to create or change an agent, and its validation. All errors are reported at once.

use serde::Deserialize;
use serde_json::Value;
use shared::agent::AgentSettings;
use shared::hook::Hooks;
use shared::mcp::{MAX_SERVERS, McpServer, McpServerSettings};
use shared::model_list::ModelList;
use shared::provider::Providers;
use shared::secret::{SecretName, SecretNeed};
use shared::skill::Network;
use shared::tool::ToolName;
use utoipa::ToSchema;

use crate::problem::FieldError;
use crate::v1::jobs::{HooksRequest, LimitsRequest, check_models, check_output_schema};

/// The maximum size of the soul and of the instructions.
const MAX_TEXT_BYTES: usize = 64 * 1024;
const MAX_SECRETS: usize = 64;
const MAX_SKILLS: usize = 32;

/// The settings of an agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PutAgent {
    /// The identity of the agent: the beginning of the system prompt, in Markdown, at most 64 KiB.
    #[schema(example = "You are a patient researcher.", min_length = 1)]
    soul: String,
    /// The model of jobs that name none; the service's default if not given. In a list, the next model replaces one
    /// whose provider is unavailable.
    model: Option<ModelList>,
    /// The names of the agent's tools; the seven general tools by default.
    #[schema(example = json!(["shell.exec", "file.read"]))]
    tools: Option<Vec<String>>,
    /// Rules for tool calls that need approval or that are logged.
    #[serde(default)]
    #[schema(value_type = Hooks)]
    hooks: HooksRequest,
    /// The default limits of the agent's jobs.
    #[serde(default)]
    limits: LimitsRequest,
    /// Instructions for the agent's work, in Markdown, at most 64 KiB. They follow the tools in the system prompt.
    #[serde(default)]
    instructions: String,
    /// The JSON Schema of the result of jobs that have no schema of their own, in the form of a job's
    /// `output_schema`.
    #[serde(default)]
    #[schema(value_type = Option<Map<String, Value>>)]
    output_schema: Option<Value>,
    /// The hosts that the agent's commands can reach: `none`, `public`, or hosts in the syntax of a skill; `none` by
    /// default.
    #[serde(default)]
    #[schema(example = "github.com *.githubusercontent.com:443")]
    network: String,
    /// The secrets that the agent's jobs receive. `?` marks an optional secret.
    #[serde(default)]
    #[schema(example = json!(["SHOP_API_KEY", "SHOP_ADMIN_KEY?"]), max_items = 64)]
    secrets: Vec<String>,
    /// The skills whose instructions and files the agent reads when a task needs them. They require the tool
    /// `shell.exec` or `file.read`.
    #[serde(default)]
    #[schema(example = json!(["docx", "spreadsheet"]), max_items = 32)]
    skills: Vec<String>,
    /// The MCP servers whose tools the agent can use, in addition to `tools`. Their names are `mcp.<server>.<tool>`.
    #[serde(default)]
    #[schema(max_items = 8)]
    mcp_servers: Vec<McpServerSettings>,
}

impl PutAgent {
    /// Returns the names of the skills, up to the maximum number.
    pub(super) fn skills(&self) -> &[String] {
        &self.skills[..self.skills.len().min(MAX_SKILLS)]
    }

    /// Validates the request and returns the settings, or all errors at once. `has_skill` returns whether a skill
    /// exists.
    pub(super) fn parse(
        self,
        providers: &Providers,
        has_skill: impl Fn(&str) -> bool,
    ) -> Result<AgentSettings, Vec<FieldError>> {
        let mut errors = Vec::new();
        if self.soul.trim().is_empty() {
            errors.push(FieldError::new(
                "/soul",
                "the soul is empty: describe who the agent is",
            ));
        }
        for (pointer, text) in [("/soul", &self.soul), ("/instructions", &self.instructions)] {
            if text.len() > MAX_TEXT_BYTES {
                let detail = format!("must be at most {MAX_TEXT_BYTES} bytes");
                errors.push(FieldError::new(pointer, detail));
            }
        }
        let secrets = check_secrets(&self.secrets, &mut errors);
        if let Some(models) = &self.model {
            errors.extend(check_models(models, providers));
        }
        let tools = check_tools(self.tools, &mut errors);
        let settings = AgentSettings {
            soul: self.soul,
            model: self.model,
            skills: check_skills(self.skills, &tools, has_skill, &mut errors),
            tools,
            hooks: self.hooks.check(&mut errors),
            // Limits that are not given stay unset, so that the service's defaults apply when a job is accepted.
            limits: self.limits.parse(&mut errors),
            instructions: self.instructions,
            output_schema: check_output_schema(self.output_schema.as_ref(), &mut errors),
            network: check_network(&self.network, &secrets, &mut errors),
            mcp_servers: check_mcp_servers(self.mcp_servers, &secrets, &mut errors),
            secrets,
        };
        if errors.is_empty() {
            Ok(settings)
        } else {
            Err(errors)
        }
    }
}

fn check_tools(names: Option<Vec<String>>, errors: &mut Vec<FieldError>) -> Vec<ToolName> {
    let Some(names) = names else {
        return ToolName::GENERAL.to_vec();
    };
    let mut tools = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let detail = match ToolName::parse(name) {
            Ok(tool) if !tools.contains(&tool) => {
                tools.push(tool);
                continue;
            }
            // Several aliases may name the same tool.
            Ok(_) if ToolName::alias(name).is_some() => continue,
            Ok(_) => "is a duplicate".to_owned(),
            Err(error) => error.to_string(),
        };
        errors.push(FieldError::new(format!("/tools/{place}"), detail));
        // Keeps the response short if most names are invalid.
        if errors.len() > ToolName::ALL.len() {
            break;
        }
    }
    tools
}

fn check_skills(
    names: Vec<String>,
    tools: &[ToolName],
    has_skill: impl Fn(&str) -> bool,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    if names.len() > MAX_SKILLS {
        let detail = format!("must have at most {MAX_SKILLS} skills");
        errors.push(FieldError::new("/skills", detail));
    }
    let reads = [ToolName::ShellExec, ToolName::FileRead];
    if !names.is_empty() && !reads.iter().any(|tool| tools.contains(tool)) {
        let detail = "skills are read with a tool: add `file.read` or `shell.exec` to `tools`";
        errors.push(FieldError::new("/skills", detail));
    }
    for (place, name) in names.iter().take(MAX_SKILLS).enumerate() {
        let detail = if names[..place].contains(name) {
            "is a duplicate".to_owned()
        } else if has_skill(name) {
            continue;
        } else {
            format!("there is no skill `{name}`; GET /v1/skills lists all skills")
        };
        errors.push(FieldError::new(format!("/skills/{place}"), detail));
    }
    names
}

fn check_secrets(words: &[String], errors: &mut Vec<FieldError>) -> Vec<SecretNeed> {
    if words.len() > MAX_SECRETS {
        let detail = format!("must have at most {MAX_SECRETS} secrets");
        errors.push(FieldError::new("/secrets", detail));
    }
    let mut secrets: Vec<SecretNeed> = Vec::new();
    for (place, word) in words.iter().take(MAX_SECRETS).enumerate() {
        let detail = match SecretNeed::parse(word) {
            Ok(need) if secrets.iter().all(|secret| secret.name != need.name) => {
                secrets.push(need);
                continue;
            }
            Ok(_) => "is a duplicate".to_owned(),
            Err(error) => error.to_string(),
        };
        errors.push(FieldError::new(format!("/secrets/{place}"), detail));
    }
    secrets
}

fn check_mcp_servers(
    described: Vec<McpServerSettings>,
    secrets: &[SecretNeed],
    errors: &mut Vec<FieldError>,
) -> Vec<McpServer> {
    if described.len() > MAX_SERVERS {
        let detail = format!("must have at most {MAX_SERVERS} servers");
        errors.push(FieldError::new("/mcp_servers", detail));
    }
    let mut servers: Vec<McpServer> = Vec::new();
    for (place, settings) in described.into_iter().take(MAX_SERVERS).enumerate() {
        let mut wrong = |at: &str, detail: String| {
            errors.push(FieldError::new(format!("/mcp_servers/{place}{at}"), detail));
        };
        let server = match McpServer::parse(settings) {
            Ok(server) => server,
            Err(faults) => {
                let faults = faults.0.into_iter();
                faults.for_each(|fault| wrong(&fault.place, fault.remedy));
                continue;
            }
        };
        if servers.iter().any(|other| other.name == server.name) {
            wrong("/name", "is a duplicate".to_owned());
        }
        let is_declared = |name: &SecretName| secrets.iter().any(|need| need.name == *name);
        for (at, name) in server.secrets().filter(|(_, name)| !is_declared(name)) {
            let detail = format!("`{name}` is not one of the secrets: declare it in `secrets`");
            wrong(&at, detail);
        }
        servers.push(server);
    }
    servers
}

fn check_network(text: &str, secrets: &[SecretNeed], errors: &mut Vec<FieldError>) -> Network {
    let mut wrong = |detail: String| errors.push(FieldError::new("/network", detail));
    let network = match Network::parse(text.split_whitespace()) {
        Ok(network) => network,
        Err(error) => {
            wrong(error.to_string());
            return Network::None;
        }
    };
    if let Some(name) = network.parameters().next() {
        wrong(format!("`parameter:{name}`: an agent has no parameters"));
    }
    let is_declared = |name: &str| secrets.iter().any(|need| need.name.as_str() == name);
    if let Some(name) = network.secrets().find(|name| !is_declared(name)) {
        wrong(format!(
            "`secret:{name}` is not one of the secrets: declare it in `secrets`"
        ));
    }
    network
}
