//! `skillet profiles`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};
use crate::profile::{LOCAL, Profiles as Stored};

const KIND: ResourceKind = ResourceKind {
    id: "name",
    columns: &[
        Column::new("NAME", |it| Cell::text(&it["name"])),
        Column::new("CURRENT", current),
        Column::new("URL", |it| Cell::text(&it["url"])),
    ],
};

#[derive(Args)]
pub(crate) struct ProfilesOptions {
    #[command(subcommand)]
    verb: Option<ProfilesVerb>,
    #[command(flatten)]
    output: OutputFormat,
}

#[derive(Subcommand)]
enum ProfilesVerb {
    /// List profiles
    List,
    /// Make a profile the default. `local` is the service of this machine
    Use(ProfileArgument),
    /// Delete a profile and its key
    Delete(ProfileArgument),
}

#[derive(Args)]
struct ProfileArgument {
    /// The name of the profile
    #[arg(value_name = "PROFILE")]
    name: String,
}

/// `skillet profiles`
pub(super) fn profiles(options: &ProfilesOptions) -> anyhow::Result<Exit> {
    let mut stored = Stored::read()?;
    match &options.verb {
        None | Some(ProfilesVerb::List) => options.output.list(&entries(&stored), &KIND)?,
        Some(ProfilesVerb::Use(ProfileArgument { name })) => {
            if name != LOCAL {
                stored.get(name)?;
            }
            stored.current = Some(name.clone());
            stored.write()?;
            options.output.done(&KIND, "using", name)?;
        }
        Some(ProfilesVerb::Delete(ProfileArgument { name })) => {
            stored.get(name)?;
            stored.profiles.remove(name);
            stored.current = stored.current.filter(|current| current != name);
            stored.write()?;
            options.output.done(&KIND, "deleted", name)?;
        }
    }
    Ok(Exit::Done)
}

/// The profiles, without their keys, and the service of this machine.
fn entries(stored: &Stored) -> Vec<Value> {
    let current = stored.current.as_deref().unwrap_or(LOCAL);
    let entry = |name: &str, url: Option<&str>| json!({"name": name, "current": name == current, "url": url});
    let profiles = stored.profiles.iter();
    let profiles = profiles.map(|(name, profile)| entry(name, Some(&profile.url)));
    profiles.chain([entry(LOCAL, None)]).collect()
}

fn current(profile: &Value) -> Cell {
    Cell::Text(
        if profile["current"] == true {
            "yes"
        } else {
            ""
        }
        .to_owned(),
    )
}
