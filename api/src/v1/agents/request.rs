//! The request for an agent: its fields, and its validation with all errors at once.

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

/// The longest soul, and the longest instructions.
const MAX_TEXT_BYTES: usize = 64 * 1024;
const MAX_SECRETS: usize = 64;
const MAX_SKILLS: usize = 32;

/// The settings of an agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PutAgent {
    /// Who it is: the beginning of the system prompt, in Markdown, at most 64 KiB.
    #[schema(example = "You are a patient researcher.", min_length = 1)]
    soul: String,
    /// The model of its jobs that name none, or several of which the next replaces one whose provider is out of reach;
    /// the service's default if not given.
    model: Option<ModelList>,
    /// The tools that it has, by name; the seven general ones if not given.
    #[schema(example = json!(["shell.exec", "file.read"]))]
    tools: Option<Vec<String>>,
    /// Which of its calls wait for a person, or are written down.
    #[serde(default)]
    #[schema(value_type = Hooks)]
    hooks: HooksRequest,
    /// What its jobs may use up that do not say so themselves.
    #[serde(default)]
    limits: LimitsRequest,
    /// How it is to work: Markdown that stands in the system prompt after the tools, at most 64 KiB.
    #[serde(default)]
    instructions: String,
    /// The JSON Schema of the result of its jobs that have none of their own, in the form of a job's `output_schema`.
    #[serde(default)]
    #[schema(value_type = Option<Map<String, Value>>)]
    output_schema: Option<Value>,
    /// What of the network its commands may reach: `none`, `public`, or hosts in the words of a skill;
    /// `none` if not given.
    #[serde(default)]
    #[schema(example = "github.com *.githubusercontent.com:443")]
    network: String,
    /// The secrets that its jobs are handed; `?` marks what they can do without.
    #[serde(default)]
    #[schema(example = json!(["SHOP_API_KEY", "SHOP_ADMIN_KEY?"]), max_items = 64)]
    secrets: Vec<String>,
    /// Skills whose instructions and files it reads when a task needs them. It needs the tool `shell.exec` or
    /// `file.read` for that.
    #[serde(default)]
    #[schema(example = json!(["docx", "spreadsheet"]), max_items = 32)]
    skills: Vec<String>,
    /// MCP servers whose tools it has, too, as `mcp.<server>.<tool>`.
    #[serde(default)]
    #[schema(max_items = 8)]
    mcp_servers: Vec<McpServerSettings>,
}

impl PutAgent {
    /// The skills that it names, as far as there may be so many.
    pub(super) fn skills(&self) -> &[String] {
        &self.skills[..self.skills.len().min(MAX_SKILLS)]
    }

    /// Checks everything; the errors are all that there are. `has_skill` says which skills exist.
    pub(super) fn parse(
        self,
        providers: &Providers,
        has_skill: impl Fn(&str) -> bool,
    ) -> Result<AgentSettings, Vec<FieldError>> {
        let mut errors = Vec::new();
        if self.soul.trim().is_empty() {
            errors.push(FieldError::new(
                "/soul",
                "say who the agent is; the soul is empty",
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
            // What is not given stays open, so that the service's default counts when a job is accepted.
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
            // Several aliases may name one tool.
            Ok(_) if ToolName::alias(name).is_some() => continue,
            Ok(_) => "is there already".to_owned(),
            Err(error) => error.to_string(),
        };
        errors.push(FieldError::new(format!("/tools/{place}"), detail));
        // A list of nonsense is not to be answered with a longer one.
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
        let detail = format!("must be at most {MAX_SKILLS}");
        errors.push(FieldError::new("/skills", detail));
    }
    let reads = [ToolName::ShellExec, ToolName::FileRead];
    if !names.is_empty() && !reads.iter().any(|tool| tools.contains(tool)) {
        let detail = "skills are read with a tool: add `file.read` or `shell.exec` to `tools`";
        errors.push(FieldError::new("/skills", detail));
    }
    for (place, name) in names.iter().take(MAX_SKILLS).enumerate() {
        let detail = if names[..place].contains(name) {
            "is there already".to_owned()
        } else if has_skill(name) {
            continue;
        } else {
            format!("there is no skill `{name}`; GET /v1/skills lists those that there are")
        };
        errors.push(FieldError::new(format!("/skills/{place}"), detail));
    }
    names
}

fn check_secrets(words: &[String], errors: &mut Vec<FieldError>) -> Vec<SecretNeed> {
    if words.len() > MAX_SECRETS {
        let detail = format!("must be at most {MAX_SECRETS}");
        errors.push(FieldError::new("/secrets", detail));
    }
    let mut secrets: Vec<SecretNeed> = Vec::new();
    for (place, word) in words.iter().take(MAX_SECRETS).enumerate() {
        let detail = match SecretNeed::parse(word) {
            Ok(need) if secrets.iter().all(|secret| secret.name != need.name) => {
                secrets.push(need);
                continue;
            }
            Ok(_) => "is there already".to_owned(),
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
        let detail = format!("must be at most {MAX_SERVERS}");
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
            wrong("/name", "is there already".to_owned());
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
        wrong(format!("`secret:{name}` is not one of the secrets"));
    }
    network
}
