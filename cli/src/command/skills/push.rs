//! `skillet skills push`.

use std::path::Path;

use anyhow::bail;

use super::check::{read, words};
use crate::client::Client;
use crate::output::{OutputFormat, text_of};
use crate::terminal::{print, say};

/// Uploads a skill that was checked here, and says what the workers lack for it.
pub(super) async fn push(
    client: &Client,
    output: OutputFormat,
    folder: &Path,
) -> anyhow::Result<()> {
    if !folder.is_dir() {
        bail!("{} is not a folder", folder.display());
    }
    // Problems are reported before anything is sent.
    let skill = match read(folder)? {
        Ok(skill) => skill,
        Err(error) => bail!("{}: {}", folder.display(), words(&error)),
    };
    let pushed = client.upload_skill(skill.files.pack_gzip()).await?;
    let name = text_of(&pushed["name"]);
    output.one(&name, &pushed, || {
        let (version, digest) = (&pushed["version"], text_of(&pushed["digest"]));
        print(&format!("{name} version {version} ({digest})"))
    })?;
    if pushed["available"] != true {
        let missing = match text_of(&pushed["missing"]) {
            none if none.is_empty() => "no worker is running".to_owned(),
            missing => format!("the workers lack: {missing}"),
        };
        say(&format!("! jobs of {name} will wait: {missing}"));
    }
    Ok(())
}
