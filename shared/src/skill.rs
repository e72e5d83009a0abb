//! Skills: folders with a `SKILL.md` in the Agent Skills format (agentskills.io/specification).

mod catalog;
mod files;
pub mod network;
mod package;
mod parse;
mod program;
mod read;
mod requirements;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use catalog::{Catalog, CatalogError};
pub use files::{
    FilePath, Files, FilesError, FilesRefusal, MAX_PACKED_BYTES, PathError, SkillFile,
};
pub use network::{HostPattern, HostRule, HostSource, Network, Ports};
pub use parse::{SkillError, is_name};
pub use program::{Need, NotAProgram, Program};
pub use read::Unreadable;

use crate::asset::OutputKind;
use crate::hook::Hooks;
use crate::job::OutputSchema;
use crate::limits::Limits;
use crate::model_list::ModelList;
use crate::schema::Schema;
use crate::secret::SecretNeed;
use crate::tool::ToolName;

/// A parsed and validated skill.
#[derive(Clone, Debug)]
pub struct Skill {
    /// The name. It equals the name of the skill's folder.
    pub name: String,
    /// The purpose of the skill and when to use it.
    pub description: String,
    /// The display name.
    pub title: String,
    /// The instructions for the model.
    pub instructions: String,
    /// The kinds of files that the skill accepts.
    pub inputs: Inputs,
    /// The kinds of files that the skill produces.
    pub outputs: Vec<OutputKind>,
    /// The tools that the skill can use.
    pub tools: Vec<ToolName>,
    /// Whether the skill was written for any agent: it lists no tools, or uses tool names of the format's examples.
    pub is_portable: bool,
    /// Warnings about front matter without effect.
    pub warnings: Vec<String>,
    /// Rules for tool calls that need approval or that are logged.
    pub hooks: Hooks,
    /// The JSON Schema of the parameters. Its type is `object`.
    pub parameters: Schema,
    /// The JSON Schema of the structured result of jobs that have no schema of their own.
    pub output_schema: Option<OutputSchema>,
    /// The models of jobs that name none. `None` means the service's default.
    pub models: Option<ModelList>,
    /// The default limits of the skill's jobs.
    pub limits: Limits,
    /// The timeout of a command, in seconds.
    pub command_seconds: u32,
    /// The maximum size of a tool's output for the model, in bytes.
    pub max_output_chars: usize,
    /// Programs that must be installed.
    pub programs: Vec<Need>,
    /// Optional programs and packages that improve the results.
    pub optional: Vec<Need>,
    /// The secrets that the skill's jobs receive. They receive no other secrets.
    pub secrets: Vec<SecretNeed>,
    /// The network access of the skill's commands.
    pub network: Network,
    /// The files of the skill. Empty if only the `SKILL.md` was parsed.
    pub files: Files,
    /// The SHA-256 of the files, in hexadecimal.
    pub digest: String,
}

/// The origin of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillOrigin {
    /// The skill is part of the service.
    BuiltIn,
    /// The skill is from the operator's skill folder.
    Directory,
    /// The tenant uploaded the skill.
    Uploaded,
}

/// The kinds of files that a skill accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Files of any kind.
    Any,
    /// Files of these kinds only, according to [`OutputKind::accepts`].
    Only(Vec<OutputKind>),
}

impl Skill {
    /// Describes the required programs that are not in `installed`.
    pub fn missing(&self, installed: &BTreeSet<Program>) -> Vec<String> {
        let unmet = self.programs.iter().filter(|need| !need.is_met(installed));
        unmet.map(Need::to_string).collect()
    }

    /// Describes the optional programs that are not in `installed`.
    pub fn missing_optional(&self, installed: &BTreeSet<Program>) -> Vec<String> {
        let unmet = self.optional.iter().filter(|need| !need.is_met(installed));
        unmet.map(Need::to_string).collect()
    }

    /// The packages among the optional programs.
    pub fn packages(&self) -> impl Iterator<Item = &Program> {
        let programs = self.optional.iter().flat_map(|need| &need.0);
        programs.filter(|program| {
            matches!(program, Program::PythonPackage(_) | Program::NodePackage(_))
        })
    }

    /// The skill's rules for tool calls in a job with these parameters. The parameter `confirm: false` removes the
    /// skill's own approval rules. Rules of the job and the operator still apply.
    pub fn hooks_for(&self, parameters: &Map<String, Value>) -> Hooks {
        let mut hooks = self.hooks.clone();
        if parameters.get("confirm") == Some(&Value::Bool(false)) {
            hooks.confirm.clear();
        }
        hooks
    }

    /// The required programs. `|` separates alternatives.
    pub fn needs(&self) -> Vec<String> {
        self.programs.iter().map(Need::as_text).collect()
    }

    /// The optional programs. `|` separates alternatives.
    pub fn optional_needs(&self) -> Vec<String> {
        self.optional.iter().map(Need::as_text).collect()
    }

    /// Checks parameters against the skill's schema and fills in its defaults. Each error is a JSON Pointer (RFC 6901)
    /// and a message.
    pub fn parameters_from(
        &self,
        given: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Vec<(String, String)>> {
        let mut filled = given.clone();
        if let Some(properties) = self.parameters.as_value()["properties"].as_object() {
            for (name, schema) in properties {
                if let Some(default) = schema.get("default").filter(|_| !given.contains_key(name)) {
                    filled.insert(name.clone(), default.clone());
                }
            }
        }
        let checked = self.parameters.check(&Value::Object(filled.clone()));
        let mut errors = checked.err().unwrap_or_default();
        for name in self.network.parameters() {
            if let Err(error) = HostRule::from_parameter(filled.get(name)) {
                errors.push((format!("/{name}"), error.to_string()));
            }
        }
        if errors.is_empty() {
            Ok(filled)
        } else {
            Err(errors)
        }
    }
}
