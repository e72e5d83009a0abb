//! `skillet init`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Arg, Args, Command};

use crate::exit::Exit;
use crate::terminal::print;

const HEAD: &str = "# The configuration of Skillet. Remove the `#` before a setting to change it.
# A flag wins over an environment variable, and a variable over this file. `skillet config check` checks it.
# Keys of model providers and other secrets belong into the environment, not here.
";

const TABLES: &str = r#"
# Prices of models in dollars per million tokens: input, output, cache read, cache write.
#[prices]
#"anthropic/claude-sonnet-4-5*" = "3:15:0.30:3.75"

# Context windows of models in tokens.
#[context_windows]
#"ollama/qwen3" = 40960

# More model providers. anthropic and openai are known: they only need ANTHROPIC_API_KEY or OPENAI_API_KEY.
#[providers.ollama]
#kind = "openai"
#base_url = "http://127.0.0.1:11434/v1"
"#;

/// Settings that are tables in the file.
const AS_TABLES: [&str; 2] = ["context_windows", "prices"];

#[derive(Args)]
pub(crate) struct Init {
    /// The file to write
    #[arg(default_value = "skillet.toml")]
    file: PathBuf,
}

/// `skillet init`. Never overwrites a file.
pub(super) fn init(options: &Init, definition: &Command) -> anyhow::Result<Exit> {
    let shown = options.file.display();
    let mut file = match File::create_new(&options.file) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{shown} already exists; `skillet config check` checks it")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
    };
    file.write_all(text(definition).as_bytes())
        .with_context(|| format!("cannot write {shown}"))?;
    print(&format!(
        "{shown} has all settings with their defaults, as comments"
    ))?;
    Ok(Exit::Done)
}

/// The settings of `skillet up` with their descriptions, from the definition of the command line.
fn text(definition: &Command) -> String {
    let up = definition.find_subcommand("up").expect("`up` is a command");
    let mut text = HEAD.to_owned();
    for arg in up.get_arguments().filter(|arg| is_setting(arg)) {
        let id = arg.get_id().as_str();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = write!(
            text,
            "\n# {}.\n#{id} = {}\n",
            help.replace('\n', " "),
            example(arg)
        );
    }
    text + TABLES
}

/// Whether the argument is a setting of the file. Secrets stay in the environment.
fn is_setting(arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    let is_option = arg.get_long().is_some() && arg.get_env().is_some();
    is_option && !arg.is_hide_env_values_set() && id != "config" && !AS_TABLES.contains(&id)
}

/// The default value, or else an example.
fn example(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return "true".to_owned();
    }
    let default = arg.get_default_values().first();
    let text = match default {
        Some(default) => default.to_string_lossy().into_owned(),
        None => match arg.get_id().as_str() {
            "default_model" => "anthropic/claude-sonnet-4-5".to_owned(),
            "metrics_listen" => "127.0.0.1:9420".to_owned(),
            "cors_origins" => "https://app.example.com".to_owned(),
            "public_url" => "https://skillet.example.com".to_owned(),
            "fetch_allow" | "egress_allow" | "webhook_allow" => "10.0.0.0/8".to_owned(),
            _ => "/srv/skillet".to_owned(),
        },
    };
    if text.parse::<i64>().is_ok() {
        text
    } else {
        format!("{text:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn every_setting_of_the_file_is_valid_when_its_comment_sign_is_removed() {
        let definition = crate::command::definition();
        let text = text(&definition);
        let settings = text.lines().map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => setting,
            _ => line,
        });
        let settings = settings.collect::<Vec<_>>().join("\n");
        let config = Config::parse(&settings, &definition).unwrap();
        config.check(&definition).unwrap();
        assert!(settings.contains("\nslots = 32\n"), "{settings}");
        assert!(!settings.contains("master_key"), "{settings}");
        assert!(
            Config::parse(&text, &definition).unwrap().is_empty(),
            "{text}"
        );
    }
}
