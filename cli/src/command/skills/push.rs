//! `skillet skills push`.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;
use skillet_client::Client;
use tokio::time::sleep;

use super::check::{read, warnings, words};
use crate::output::{OutputFormat, text_of};
use crate::terminal::{print, say};

/// The number of times that the service is asked again for missing programs, and the pause before each. Workers search
/// for the programs of new skills once a second.
const SEARCH_CHECKS: u32 = 4;
const SEARCH_PAUSE: Duration = Duration::from_millis(700);

/// Checks a skill on this machine, uploads it, and reports programs that the workers lack.
pub(super) async fn push(
    client: &Client,
    output: OutputFormat,
    folder: &Path,
) -> anyhow::Result<()> {
    if !folder.is_dir() {
        bail!("{} is not a folder", folder.display());
    }
    // Reports problems before anything is sent.
    let skill = match read(folder)? {
        Ok(skill) => skill,
        Err(error) => bail!("{}: {}", folder.display(), words(&error)),
    };
    let archive = ("skill.tar.gz", skill.files.pack_gzip());
    let mut pushed: Value = client.send_file("/v1/skills", archive).await?;
    let name = text_of(&pushed["name"]);
    for _ in 0..SEARCH_CHECKS {
        if !lacks(&pushed, "missing") && !lacks(&pushed, "missing_optional") {
            break;
        }
        sleep(SEARCH_PAUSE).await;
        pushed = client.get(&format!("/v1/skills/{name}"), &[]).await?;
    }
    output.one(&name, &pushed, || {
        let (version, digest) = (&pushed["version"], text_of(&pushed["digest"]));
        print(&format!("{name} version {version} ({digest})"))
    })?;
    for warning in warnings(&skill) {
        say(&format!("! {warning}"));
    }
    if pushed["available"] != true {
        let missing = match text_of(&pushed["missing"]) {
            none if none.is_empty() => "no worker is running".to_owned(),
            missing => format!("the workers lack: {missing}"),
        };
        say(&format!("! jobs of {name} will wait: {missing}"));
    }
    if lacks(&pushed, "missing_optional") {
        let missing = text_of(&pushed["missing_optional"]);
        say(&format!("! the workers lack optional programs: {missing}"));
    }
    Ok(())
}

fn lacks(skill: &Value, field: &str) -> bool {
    skill[field]
        .as_array()
        .is_some_and(|names| !names.is_empty())
}
