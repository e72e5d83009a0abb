//! `skillet man`.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};

use crate::exit::Exit;
use crate::terminal::print;

#[derive(Args)]
pub(crate) struct Man {
    /// The directory for the pages
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// `skillet man`: a page for `skillet` and each of its commands, such as `skillet-jobs-list.1`.
pub(super) fn man(options: &Man, definition: Command) -> anyhow::Result<Exit> {
    let folder = &options.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(definition, folder))
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    print(&format!("man -l {}", folder.join("skillet.1").display()))?;
    Ok(Exit::Done)
}
