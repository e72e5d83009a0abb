//! Skills: folders with a `SKILL.md` in the Agent Skills format (agentskills.io/specification).

mod catalog;
pub mod network;
mod package;
mod parse;
mod program;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub use catalog::{Catalog, CatalogError};
pub use network::{HostPattern, HostRule, HostSource, Network, Ports};
pub use parse::{SkillError, is_name};
pub use program::{Need, NotAProgram, Program};

use crate::hook::Hooks;
use crate::job::OutputKind;
use crate::schema::Schema;
use crate::secret::SecretNeed;
use crate::tool::ToolName;

/// A skill, read and checked.
#[derive(Clone, Debug)]
pub struct Skill {
    /// Equals its folder's name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Its name for people.
    pub title: String,
    /// What the model is told.
    pub instructions: String,
    /// The kinds of files it takes.
    pub inputs: Inputs,
    /// The kinds of files it makes.
    pub outputs: Vec<OutputKind>,
    /// The tools it gets.
    pub tools: Vec<ToolName>,
    /// Which of its calls wait for a person, or are written down.
    pub hooks: Hooks,
    /// The schema of its parameters, an object.
    pub parameters: Schema,
    /// How long its jobs may take unless they say otherwise.
    pub timeout_seconds: u32,
    /// How much of a tool's output the model reads, in bytes.
    pub max_output_chars: usize,
    /// What must be installed.
    pub programs: Vec<Need>,
    /// The secrets that its jobs are handed, and no others.
    pub secrets: Vec<SecretNeed>,
    /// What of the network its commands may reach.
    pub network: Network,
    /// SHA-256 over its files, hexadecimal.
    pub digest: String,
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
    /// What is missing where only these are installed, in words.
    pub fn missing(&self, installed: &BTreeSet<Program>) -> Vec<String> {
        let unmet = self.programs.iter().filter(|need| !need.is_met(installed));
        unmet.map(Need::to_string).collect()
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
