//! `skillet config`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::config::{Config, path_of};
use crate::exit::Exit;
use crate::output::OutputFormat;
use crate::terminal::print;

#[derive(Args)]
pub(crate) struct ConfigFile {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Subcommand)]
enum ConfigVerb {
    /// Check the names and values of all settings, and the keys of model providers
    Check(CheckConfigOptions),
}

#[derive(Args)]
struct CheckConfigOptions {
    /// The file to check [default: --config, else skillet.toml]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFormat,
}

/// `skillet config check`
pub(super) fn check(
    options: &ConfigFile,
    named: Option<&Path>,
    definition: &clap::Command,
) -> anyhow::Result<Exit> {
    let ConfigVerb::Check(CheckConfigOptions { file, output }) = &options.verb;
    let path = path_of(file.as_deref().or(named));
    let config = Config::read(&path, definition)?;
    let shown = path.display();
    config
        .check(definition)
        .map_err(|problem| problem.context(format!("in {shown}")))?;
    let providers = config.providers(None);
    let missing = |name: &String| providers.missing_variable(name);
    let states: Vec<_> = providers
        .names()
        .into_iter()
        .map(|name| json!({"name": name, "missing_variable": missing(&name)}))
        .collect();
    let found =
        json!({"file": path, "valid": true, "settings": config.names(), "providers": states});
    output.one(&shown.to_string(), &found, || {
        print(&format!("✓ {shown}: {} settings", config.names().len()))?;
        for name in providers.names() {
            match missing(&name) {
                None => print(&format!("✓ models of {name}"))?,
                Some(variable) => {
                    print(&format!("– models of {name}: {variable} is not set here"))?;
                }
            }
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}
