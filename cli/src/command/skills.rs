//! `skillet skills`.

mod check;
mod push;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;
use skillet_client::Client;

use crate::args::ClientOptions;
use crate::complete;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, text_of};

const KIND: ResourceKind = ResourceKind {
    id: "name",
    columns: &[
        Column::new("NAME", |skill| Cell::text(&skill["name"])),
        Column::new("STATUS", status),
        Column::new("ORIGIN", origin),
        Column::new("DESCRIPTION", description),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Skills {
    /// List skills, and the programs that are missing on the workers
    List,
    /// Show a skill
    Get(SkillArgument),
    /// Validate a skill in a folder or an archive
    Check(CheckSkillOptions),
    /// Upload a skill, or a new version of it
    Push(Push),
    /// Delete an uploaded skill
    Delete(SkillArgument),
}

#[derive(Args)]
pub(crate) struct SkillArgument {
    /// The name of the skill
    #[arg(value_name = "SKILL", add = complete::skills())]
    name: String,
}

#[derive(Args)]
pub(crate) struct CheckSkillOptions {
    /// A folder with a SKILL.md, or a ZIP or tar.gz archive of one
    #[arg(value_name = "DIR|ARCHIVE")]
    place: PathBuf,
}

#[derive(Args)]
pub(crate) struct Push {
    /// The folder of the skill. It must have the name of the skill
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Verb for Skills {
    fn default() -> Self {
        Self::List
    }

    fn needs_service(&self, _: &ClientOptions) -> bool {
        !matches!(self, Self::Check(_))
    }

    async fn run_alone(&self, options: &ClientOptions) -> anyhow::Result<Exit> {
        match self {
            Self::Check(CheckSkillOptions { place }) => check::check(place, options.output).await,
            _ => Ok(Exit::Done),
        }
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List => output.list(&client.list("/v1/skills", &[], None).await?, &KIND)?,
            Self::Get(SkillArgument { name }) => {
                let skill: Value = client.get(&format!("/v1/skills/{name}"), &[]).await?;
                output.fields(&KIND, &skill)?;
            }
            Self::Check(_) => {}
            Self::Push(Push { folder }) => push::push(client, output, folder).await?,
            Self::Delete(SkillArgument { name }) => {
                client.delete(&format!("/v1/skills/{name}")).await?;
                output.done(&KIND, "deleted", name)?;
            }
        }
        Ok(Exit::Done)
    }
}

fn status(skill: &Value) -> Cell {
    let status = match (skill["available"] == true, skill["paused"] == true) {
        (_, true) => "paused",
        (true, false) => "available",
        (false, false) => "unavailable",
    };
    Cell::Status(status.to_owned())
}

fn origin(skill: &Value) -> Cell {
    Cell::Text(match skill["version"].as_i64() {
        Some(version) => format!("version {version}"),
        None => text_of(&skill["origin"]).replace('_', " "),
    })
}

/// The missing programs, or else the first sentence of the description. The other sentences are for models.
fn description(skill: &Value) -> Cell {
    let missing = text_of(&skill["missing"]);
    if !missing.is_empty() {
        return Cell::Text(format!("missing: {missing}"));
    }
    let text = text_of(&skill["description"]);
    let first = text
        .split_once(". ")
        .map_or(text.as_str(), |(first, _)| first);
    Cell::Text(first.to_owned())
}
