//! `skillet models`.

use clap::Subcommand;
use serde_json::Value;
use skillet_client::Client;

use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};

const KIND: ResourceKind = ResourceKind {
    id: "name",
    columns: &[
        Column::new("NAME", |model| Cell::text(&model["name"])),
        Column::new("STATUS", status),
        Column::new("DEFAULT", default),
        Column::new("INPUT $/M", |model| Cell::text(&model["price"]["input"])),
        Column::new("OUTPUT $/M", |model| Cell::text(&model["price"]["output"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Models {
    /// List model providers and configured models, and whether they are available
    List,
}

impl Verb for Models {
    fn default() -> Self {
        Self::List
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        output.list(&client.list("/v1/models", &[], None).await?, &KIND)?;
        Ok(Exit::Done)
    }
}

fn status(model: &Value) -> Cell {
    let is_available = model["available"] == true;
    let status = match model["provider_status"].as_str() {
        _ if !is_available => "unavailable",
        Some(status @ ("limited" | "down")) => status,
        _ => "available",
    };
    Cell::Status(status.to_owned())
}

fn default(model: &Value) -> Cell {
    Cell::Text(if model["default"] == true { "yes" } else { "" }.to_owned())
}
