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

/// A skill, read and checked.
#[derive(Clone, Debug)]
pub struct Skill {
    /// Equals its folder's name.
    pub name: String,
    /// Its purpose and when to use it.
    pub description: String,
    /// Its name for people.
    pub title: String,
    /// Its instructions for the model.
    pub instructions: String,
    /// The kinds of files it takes.
    pub inputs: Inputs,
    /// The kinds of files it makes.
    pub outputs: Vec<OutputKind>,
    /// The tools it gets.
    pub tools: Vec<ToolName>,
    /// Whether it was written for any agent: it names none of our tools, or names of the format's examples.
    pub is_portable: bool,
    /// What its front matter says without effect.
    pub warnings: Vec<String>,
    /// Rules for calls that need approval or write a log line.
    pub hooks: Hooks,
    /// The schema of its parameters, an object.
    pub parameters: Schema,
    /// The schema of the result of its jobs that have none of their own.
    pub output_schema: Option<OutputSchema>,
    /// The models of its jobs that name none; the service's default if not given.
    pub models: Option<ModelList>,
    /// The limits of its jobs that have none of their own.
    pub limits: Limits,
    /// Seconds that a command may run.
    pub command_seconds: u32,
    /// How many bytes of a tool's output the model reads.
    pub max_output_chars: usize,
    /// Programs that must be installed.
    pub programs: Vec<Need>,
    /// Programs and packages that it works better with.
    pub optional: Vec<Need>,
    /// The secrets that its jobs are handed, and no others.
    pub secrets: Vec<SecretNeed>,
    /// Network access of its commands.
    pub network: Network,
    /// Its files, unless only its `SKILL.md` was read.
    pub files: Files,
    /// SHA-256 over its files, hexadecimal.
    pub digest: String,
}

/// The origin of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillOrigin {
    /// It is part of the service.
    BuiltIn,
    /// The operator put it into a folder of the service.
    Directory,
    /// The tenant uploaded it.
    Uploaded,
}

/// The kinds of files that a skill takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Any.
    Any,
    /// These, by the part of the media type before the slash, `document` for all other.
    Only(Vec<OutputKind>),
}

impl Skill {
    /// The missing programs, in words, where only these are installed.
    pub fn missing(&self, installed: &BTreeSet<Program>) -> Vec<String> {
        let unmet = self.programs.iter().filter(|need| !need.is_met(installed));
        unmet.map(Need::to_string).collect()
    }

    /// The missing optional programs, in words, where only these are installed.
    pub fn missing_optional(&self, installed: &BTreeSet<Program>) -> Vec<String> {
        let unmet = self.optional.iter().filter(|need| !need.is_met(installed));
        unmet.map(Need::to_string).collect()
    }

    /// The packages among its optional programs.
    pub fn packages(&self) -> impl Iterator<Item = &Program> {
        let programs = self.optional.iter().flat_map(|need| &need.0);
        programs.filter(|program| {
            matches!(program, Program::PythonPackage(_) | Program::NodePackage(_))
        })
    }

    /// Its rules for calls of tools in a job with these parameters. A skill that has a parameter `confirm`
    /// leaves it to the job whether its calls wait for a person; other rules of the job and the operator stand.
    pub fn hooks_for(&self, parameters: &Map<String, Value>) -> Hooks {
        let mut hooks = self.hooks.clone();
        if parameters.get("confirm") == Some(&Value::Bool(false)) {
            hooks.confirm.clear();
        }
        hooks
    }

    /// Programs that must be installed; `|` separates alternatives.
    pub fn needs(&self) -> Vec<String> {
        self.programs.iter().map(Need::as_text).collect()
    }

    /// The programs that it works better with, in the same form.
    pub fn optional_needs(&self) -> Vec<String> {
        self.optional.iter().map(Need::as_text).collect()
    }

    /// Checks parameters against the skill's schema and fills in its defaults. The errors name where
    /// (a JSON Pointer, RFC 6901) and what.
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
