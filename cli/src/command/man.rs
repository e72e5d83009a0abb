//! `skillet man`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::exit::Exit;
use crate::terminal::print;

#[derive(Args)]
pub(crate) struct Man {
    /// The directory for the pages
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// `skillet man`: writes a page for `skillet` and each of its commands, such as `skillet-jobs-list.1`.
pub(super) fn man(options: &Man, definition: Command) -> anyhow::Result<Exit> {
    let folder = &options.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| write(definition, folder))
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    print(&format!("man -l {}", folder.join("skillet.1").display()))?;
    Ok(Exit::Done)
}

/// Writes the page of a command and the pages of its visible subcommands.
fn write(command: Command, folder: &Path) -> std::io::Result<()> {
    let below = command.get_subcommands();
    for below in below.filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        write(below.clone(), folder)?;
    }
    Page::new(command).generate_to(folder).map(drop)
}
