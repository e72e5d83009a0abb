//! `skillet skills push`.

use anyhow::bail;

use super::check::{read, words};
use crate::Exit;
use crate::args::PushSkill;
use crate::client::Client;
use crate::command::{print, print_json};
use crate::config::Config;
use crate::session::Session;

/// `skillet skills push`
pub(in crate::command) async fn push(options: &PushSkill, config: &Config) -> anyhow::Result<Exit> {
    let folder = &options.folder;
    if !folder.is_dir() {
        bail!("{} is not a folder", folder.display());
    }
    // What is wrong is said here, before anything is sent.
    let skill = match read(folder)? {
        Ok(skill) => skill,
        Err(error) => bail!("{}: {}", folder.display(), words(&error)),
    };
    let archive = skill.files.pack_gzip();
    let push = async |client: &Client| {
        let skill = client.upload_skill(archive.clone()).await?;
        if options.json {
            print_json(&skill)?;
            return Ok(Exit::Done);
        }
        let text = |name: &str| skill[name].as_str().unwrap_or_default();
        print(&format!(
            "{} version {} ({})",
            text("name"),
            skill["version"],
            text("digest")
        ));
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, push).await
}
