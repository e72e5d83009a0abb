//! The tools of a job, with the rules for their calls.

mod approval;
mod definition;
mod executor;
mod images;

use std::sync::Arc;

use shared::hook::{Hooks, Rule};
use shared::message::ToolCall;
use shared::schema::Schema;
use shared::secret::SecretNeed;
use shared::tool::ToolName;

use worker_model::ToolSpec;
use worker_tool::{SubmitResult, Tool};
use worker_workspace::Redactor;

pub(crate) use definition::{ToolDefinitions, ToolboxError};
pub(crate) use executor::ToolRunner;

use definition::ToolDefinition;

/// The tools of a job.
pub(crate) struct Toolbox {
    entries: Vec<ToolEntry>,
}

struct ToolEntry {
    definition: ToolDefinition,
    tool: Box<dyn Tool>,
    rule: Rule,
}

impl Toolbox {
    /// Creates the tools with these names and rules, for a job that may send these secrets.
    pub(crate) fn new(
        names: &[ToolName],
        hooks: &Hooks,
        secrets: &[SecretNeed],
        definitions: &ToolDefinitions,
    ) -> Result<Self, ToolboxError> {
        let mut entries: Vec<ToolEntry> = Vec::with_capacity(names.len());
        for &name in names {
            let tool = worker_tool::open(name, secrets);
            let definition = if secrets.is_empty() {
                definitions.get(name, &*tool)
            } else {
                ToolDefinition::of(name, &*tool)
            }?;
            if entries
                .iter()
                .any(|entry| entry.definition.spec.name == definition.spec.name)
            {
                return Err(ToolboxError::Duplicate(name));
            }
            entries.push(ToolEntry {
                rule: hooks.rule(&definition.spec.name),
                definition,
                tool,
            });
        }
        Ok(Self { entries })
    }

    /// Adds a tool under the same rules. The schema validates its arguments. Its name must be new.
    pub(crate) fn add(&mut self, tool: Box<dyn Tool>, schema: Schema, hooks: &Hooks) {
        let spec = Arc::new(tool.spec());
        debug_assert!(self.entry(&spec.name).is_none(), "{} is new", spec.name);
        self.entries.push(ToolEntry {
            rule: hooks.rule(&spec.name),
            definition: ToolDefinition { spec, schema },
            tool,
        });
    }

    /// Returns the tools as the model sees them.
    pub(crate) fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.entries
            .iter()
            .map(|entry| entry.definition.spec.clone())
            .collect()
    }

    /// Returns the tool of a valid call. An error describes the faults of the call, without the values that the
    /// redactor knows. A call that is rejected here has no effect.
    pub(super) fn admit(
        &self,
        call: &ToolCall,
        redactor: Option<&Redactor>,
    ) -> Result<&dyn Tool, String> {
        if let Some(problem) = &call.malformed {
            return Err(format!("the call was not run: {problem}"));
        }
        let entry = self.entry(&call.tool).ok_or_else(|| self.unknown(call))?;
        if let Err(faults) = entry.definition.schema.check(&call.input) {
            let faults = match redactor {
                None => faults,
                Some(redactor) => faults_without_secrets(&entry.definition.schema, call, redactor),
            };
            return Err(explain(&entry.definition.schema, &faults));
        }
        Ok(&*entry.tool)
    }

    /// Returns the label of a tool in metrics and spans. There are few labels, whatever names
    /// servers offer and models invent.
    pub(super) fn label(&self, name: &str) -> &'static str {
        match ToolName::parse(name) {
            Ok(tool) if self.entry(name).is_some() => tool.as_str(),
            Err(_) if name == SubmitResult::NAME && self.entry(name).is_some() => {
                SubmitResult::NAME
            }
            Err(_) if self.entry(name).is_some() => "mcp",
            _ => "unknown",
        }
    }

    /// Returns the rule for calls of the named tool.
    pub(super) fn rule(&self, name: &str) -> Rule {
        self.entry(name).map_or(Rule::Silent, |entry| entry.rule)
    }

    /// Whether calls of the named tool change nothing. Calls of unknown tools change nothing either.
    pub(super) fn is_read_only(&self, name: &str) -> bool {
        let entry = self.entry(name);
        entry.is_none_or(|entry| entry.tool.is_read_only())
    }

    /// Returns the tool with this name or alias.
    fn entry(&self, name: &str) -> Option<&ToolEntry> {
        let canonical = ToolName::alias(name).map_or(name, |tool| tool.as_str());
        self.entries
            .iter()
            .find(|entry| entry.definition.spec.name == canonical)
    }

    fn unknown(&self, call: &ToolCall) -> String {
        let names = self
            .entries
            .iter()
            .map(|entry| entry.definition.spec.name.as_ref());
        let known: Vec<_> = names.collect();
        format!(
            "there is no tool `{}`; there are: {}",
            call.tool,
            known.join(", ")
        )
    }
}

/// Returns the faults of the redacted arguments. In the faults of the original arguments, the redactor could miss a
/// secret, because messages are cut and pointers are escaped.
fn faults_without_secrets(
    schema: &Schema,
    call: &ToolCall,
    redactor: &Redactor,
) -> Vec<(String, String)> {
    let mut clean = call.input.clone();
    redactor.clean_json(&mut clean);
    schema.check(&clean).err().unwrap_or_default()
}

fn explain(schema: &Schema, faults: &[(String, String)]) -> String {
    let mut lines = vec!["the call was not run: its arguments are not valid".to_owned()];
    lines.extend(faults.iter().map(|(place, what)| match place.as_str() {
        "" => format!("- {what}"),
        place => format!("- {place}: {what}"),
    }));
    let required: Vec<_> = schema.required().collect();
    if !required.is_empty() {
        lines.push(format!("Required arguments: {}.", required.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(tool: &str, input: Value) -> ToolCall {
        ToolCall {
            call_id: "c".to_owned(),
            tool: tool.to_owned(),
            input,
            malformed: None,
        }
    }

    #[test]
    fn every_tool_has_its_name_a_description_and_a_schema_of_an_object() {
        let toolbox = Toolbox::new(
            &ToolName::ALL,
            &Hooks::default(),
            &[],
            &ToolDefinitions::default(),
        )
        .unwrap();
        for (name, spec) in ToolName::ALL.iter().zip(toolbox.specs()) {
            assert_eq!(name.as_str(), spec.name);
            assert_eq!(spec.input_schema["type"], "object", "{name}");
            assert_eq!(spec.input_schema["additionalProperties"], false, "{name}");
            assert!(
                (80..1000).contains(&spec.description.len()),
                "{name}: {}",
                spec.description
            );
            // The tool may be the only one of a job.
            let others = ToolName::ALL.iter().filter(|other| *other != name);
            for other in others {
                assert!(
                    !spec.description.contains(other.as_str()),
                    "{name}: {other}"
                );
            }
            for (argument, schema) in spec.input_schema["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{name}: {argument}");
            }
        }
        assert!(toolbox.is_read_only("file.read") && !toolbox.is_read_only("file.write"));
    }

    #[test]
    fn jobs_share_what_does_not_depend_on_their_secrets() {
        let definitions = ToolDefinitions::default();
        let spec = |secrets: &[SecretNeed]| {
            let tools = [ToolName::HttpRequest];
            let hooks = Hooks::default();
            let toolbox = Toolbox::new(&tools, &hooks, secrets, &definitions).unwrap();
            toolbox.specs().remove(0)
        };
        let plain = spec(&[]);
        let need = SecretNeed::parse("TOKEN").unwrap();
        assert!(spec(&[need]).description.contains("{{secret:TOKEN}}"));
        assert!(Arc::ptr_eq(&plain, &spec(&[])));
    }

    #[test]
    fn a_tool_that_is_named_twice_is_refused() {
        let twice = [ToolName::FileRead, ToolName::ShellExec, ToolName::FileRead];
        let error = Toolbox::new(&twice, &Hooks::default(), &[], &ToolDefinitions::default())
            .err()
            .unwrap();
        assert_eq!(error.to_string(), "the tool file.read is listed twice");
    }

    #[test]
    fn the_model_is_told_what_is_wrong_with_a_call() {
        let toolbox = Toolbox::new(
            &[ToolName::ShellExec, ToolName::FileRead],
            &Hooks::default(),
            &[],
            &ToolDefinitions::default(),
        )
        .unwrap();
        let refused = |call: ToolCall| toolbox.admit(&call, None).err().unwrap();
        let wrong = json!({"comand": "ls", "timeout": "5"});
        assert_eq!(
            refused(call("shell.exec", wrong)),
            "the call was not run: its arguments are not valid\n\
             - /timeout: \"5\" is not of types \"null\", \"integer\"\n\
             - /comand: is not known; there are: command, cwd, timeout\n\
             - \"command\" is a required property\n\
             Required arguments: command."
        );
        for input in [json!(null), json!("ls"), json!([])] {
            let refused = refused(call("shell.exec", input));
            assert!(refused.contains(r#"is not of type "object""#), "{refused}");
        }
        assert_eq!(
            refused(call("shell_exec", json!({}))),
            "there is no tool `shell_exec`; there are: shell.exec, file.read"
        );
        let malformed = ToolCall {
            malformed: Some("it was cut".to_owned()),
            ..call("shell.exec", json!({}))
        };
        assert_eq!(refused(malformed), "the call was not run: it was cut");
        let good = call("shell.exec", json!({"command": "ls"}));
        assert!(toolbox.admit(&good, None).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_without_secrets_however_they_would_be_escaped_or_cut() {
        let toolbox = Toolbox::new(
            &[ToolName::ShellExec],
            &Hooks::default(),
            &[],
            &ToolDefinitions::default(),
        )
        .unwrap();
        let redactor = Redactor::new([("KEY", "a/b~c-0123456789")].into_iter());
        let long = format!("{}a/b~c-0123456789", "x".repeat(290));
        let wrong = call(
            "shell.exec",
            json!({"a/b~c-0123456789": 1, "timeout": long}),
        );
        let refused = toolbox.admit(&wrong, Some(&redactor)).err().unwrap();
        assert!(
            refused.contains("- /[secret KEY]: is not known"),
            "{refused}"
        );
        assert!(
            !refused.contains("a/b") && !refused.contains("a~1b"),
            "{refused}"
        );
    }
}
