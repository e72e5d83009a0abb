//! The configuration file `skillet.toml`. A flag wins over an environment variable, and a variable over the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use shared::model_name::ModelName;
use shared::provider::{Provider, Providers};
use toml::{Table, Value};

/// The file that is read if it exists and no other file is named.
const DEFAULT_FILE: &str = "skillet.toml";

/// The settings that may be tables with one line per model.
const BY_MODEL: [&str; 2] = ["context_windows", "prices"];

/// The content of the configuration file.
#[derive(Default)]
pub(crate) struct Config {
    /// Default values of flags, by the name of the flag with underscores.
    flags: BTreeMap<String, String>,
    providers: BTreeMap<String, Provider>,
}

/// Reads the file that `--config` or `SKILLET_CONFIG` names, else `skillet.toml` if it exists.
pub(crate) fn load(definition: &clap::Command) -> anyhow::Result<Config> {
    let named = named_on_command_line();
    let path = path_of(named.as_deref());
    let is_named = named.is_some() || std::env::var_os("SKILLET_CONFIG").is_some();
    if !is_named && !path.exists() {
        return Ok(Config::default());
    }
    Config::read(&path, definition)
}

/// The named file, else the file in `SKILLET_CONFIG`, else `skillet.toml`.
pub(crate) fn path_of(named: Option<&Path>) -> PathBuf {
    let named = named.map(Path::to_owned);
    let named = named.or_else(|| std::env::var_os("SKILLET_CONFIG").map(PathBuf::from));
    named.unwrap_or_else(|| DEFAULT_FILE.into())
}

/// The value of `--config`. The file sets the defaults of flags, so its name is needed before the flags are parsed.
fn named_on_command_line() -> Option<PathBuf> {
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "--config" {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(path) = text.strip_prefix("--config=") {
            return Some(Path::new(path).to_owned());
        }
    }
    None
}

/// Adds the default values of `anthropic` and `openai` to their provider tables.
fn with_usual(mut providers: Value) -> Value {
    let tables = providers.as_table_mut().into_iter().flatten();
    for (name, table) in tables {
        let (Some(table), Some(usual)) = (table.as_table_mut(), Provider::usual(name)) else {
            continue;
        };
        let kind = table.entry("kind").or_insert_with(|| name.clone().into());
        // Another protocol needs another base URL.
        if kind.as_str() != Some(name) {
            continue;
        }
        table.entry("base_url").or_insert(usual.base_url.into());
        if let Some(variable) = usual.key_variable {
            table.entry("key_variable").or_insert(variable.into());
        }
    }
    providers
}

/// Converts a table to the value of a flag.
fn joined(table: Table) -> anyhow::Result<String> {
    let lines = table.into_iter().map(|(model, value)| match value {
        Value::String(text) => Ok(format!("{model}={text}")),
        Value::Integer(number) => Ok(format!("{model}={number}")),
        other => bail!("`{model}` cannot be of type {}", other.type_str()),
    });
    Ok(lines.collect::<anyhow::Result<Vec<_>>>()?.join(","))
}

fn is_flag(command: &clap::Command, id: &str) -> bool {
    let own = command
        .get_arguments()
        .any(|argument| argument.get_id() == id && argument.get_long().is_some());
    own || command
        .get_subcommands()
        .any(|command| is_flag(command, id))
}

impl Config {
    /// Checks the values of all settings.
    pub(crate) fn check(&self, definition: &clap::Command) -> anyhow::Result<()> {
        // Environment variables would override the values that are checked.
        let without_environment =
            |command: clap::Command| command.mut_args(|arg| arg.env(None::<&str>));
        let definition = definition.clone().mut_subcommands(without_environment);
        for command in ["up", "run"] {
            let arguments = ["skillet", command, "shell", "x"];
            let length = if command == "run" { 4 } else { 2 };
            let matches = self
                .apply_to(definition.clone())
                .try_get_matches_from(&arguments[..length]);
            if let Err(error) = matches {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                bail!("{}", first.trim_start_matches("error: "));
            }
        }
        Ok(())
    }

    /// The names of the settings, including providers.
    pub(crate) fn names(&self) -> Vec<String> {
        let providers = self
            .providers
            .keys()
            .map(|name| format!("providers.{name}"));
        self.flags.keys().cloned().chain(providers).collect()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// Reads and parses a file.
    pub(crate) fn read(path: &Path, definition: &clap::Command) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text, definition).with_context(|| format!("in {}", path.display()))
    }

    /// Parses the text of a file. The values are checked where they are used, or by `check`.
    pub(crate) fn parse(text: &str, definition: &clap::Command) -> anyhow::Result<Self> {
        let table: Table = text.parse()?;
        let mut config = Config::default();
        for (key, value) in table {
            if key == "providers" {
                config.providers = with_usual(value).try_into().context("`providers`")?;
                continue;
            }
            ensure!(is_flag(definition, &key), "there is no setting `{key}`");
            let default = match value {
                Value::String(text) => text,
                value @ (Value::Integer(_) | Value::Boolean(_)) => value.to_string(),
                Value::Table(table) if BY_MODEL.contains(&&*key) => joined(table)?,
                other => bail!("`{key}` cannot be of type {}", other.type_str()),
            };
            config.flags.insert(key, default);
        }
        Ok(config)
    }

    /// The command with the values of the file as defaults of its flags.
    pub(crate) fn apply_to(&self, command: clap::Command) -> clap::Command {
        command
            .mut_args(
                |argument| match self.flags.get(argument.get_id().as_str()) {
                    Some(default) if argument.get_long().is_some() => {
                        // A value that the help hides if a variable sets it is also hidden if the file sets it.
                        let is_hidden = argument.is_hide_env_values_set();
                        argument
                            .default_value(default)
                            .hide_default_value(is_hidden)
                    }
                    _ => argument,
                },
            )
            .mut_subcommands(|command| self.apply_to(command))
    }

    /// The model providers, with the default model.
    pub(crate) fn providers(&self, default_model: Option<ModelName>) -> Providers {
        Providers::new(self.providers.clone(), default_model)
    }
}

#[cfg(test)]
mod tests {
    use shared::provider::PriceSetting;

    use super::*;
    use crate::command::definition;

    fn parse(text: &str) -> anyhow::Result<Config> {
        Config::parse(text, &definition())
    }

    #[test]
    fn the_file_sets_defaults_that_flags_override() {
        let config =
            parse("slots = 3\n[providers.ollama]\nkind = \"openai\"\nbase_url = \"http://h/v1\"\n")
                .unwrap();
        let slots = |arguments: &[&str]| {
            let matches = config
                .apply_to(definition())
                .try_get_matches_from(arguments)
                .unwrap();
            *matches
                .subcommand()
                .unwrap()
                .1
                .get_one::<u32>("slots")
                .unwrap()
        };
        assert_eq!(slots(&["skillet", "up"]), 3);
        assert_eq!(slots(&["skillet", "up", "--slots", "5"]), 5);
        assert!(
            config
                .providers(None)
                .names()
                .contains(&"ollama".to_owned())
        );
    }

    #[test]
    fn the_limits_of_a_usual_provider_need_no_more() {
        let config = parse("[providers.anthropic]\nrequests_per_minute = 50\n").unwrap();
        let provider = config.providers["anthropic"].clone();
        let usual = Provider::usual("anthropic").unwrap();
        assert_eq!(provider.requests_per_minute.map(|it| it.get()), Some(50));
        assert_eq!(provider.base_url, usual.base_url);
        assert_eq!(provider.key_variable, usual.key_variable);
        assert!(parse("[providers.other]\nrequests_per_minute = 50\n").is_err());
    }

    #[test]
    fn what_is_said_of_models_may_be_a_table() {
        let text = "[prices]\n\"openai/gpt-5\" = \"1.25:10\"\n\"ollama/*\" = \"0:0\"\n\
                    [context_windows]\n\"ollama/\" = 32768\n";
        let config = parse(text).unwrap();
        let matches = config.apply_to(definition());
        let matches = matches.try_get_matches_from(["skillet", "up"]).unwrap();
        let (_, matches) = matches.subcommand().unwrap();
        let prices = matches.get_many::<PriceSetting>("prices").unwrap();
        let expected = ["ollama/*=0:0", "openai/gpt-5=1.25:10"];
        let expected: Vec<PriceSetting> = expected.map(|text| text.parse().unwrap()).into();
        assert_eq!(prices.cloned().collect::<Vec<_>>(), expected);
        assert!(parse("[slots]\na = 1").is_err() && parse("[prices]\n\"a/b\" = 1.5").is_err());
    }

    #[test]
    fn a_setting_that_does_not_exist_is_named() {
        let error = |text| format!("{:#}", parse(text).err().unwrap());
        assert_eq!(error("slot = 3"), "there is no setting `slot`");
        assert_eq!(error("slots = [3]"), "`slots` cannot be of type array");
        assert!(
            error("[providers.x]\nkind = \"soap\"\nbase_url = \"u\"")
                .contains("unknown variant `soap`")
        );
    }
}
