//! `skillet completions`.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::env::Shells;

use crate::exit::Exit;

/// The environment variable with which a shell requests completions.
pub(crate) const VARIABLE: &str = "SKILLET_COMPLETE";

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(["bash", "elvish", "fish", "powershell", "zsh"]))]
    shell: String,
}

/// `skillet completions`: prints a script that calls `skillet` itself for completions, including ids from the service.
pub(super) fn completions(options: &Completions) -> anyhow::Result<Exit> {
    let shells = Shells::builtins();
    let shell = shells
        .completer(&options.shell)
        .context("this shell is not supported")?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "skillet", "skillet", "skillet", &mut script)?;
    std::io::stdout()
        .write_all(&script)
        .context("cannot write to standard output")?;
    Ok(Exit::Done)
}
