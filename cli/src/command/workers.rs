//! `skillet workers`.

use clap::Subcommand;
use serde_json::Value;
use skillet_client::Client;

use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |worker| Cell::text(&worker["id"])),
        Column::new("STATUS", status),
        Column::new("JOBS", jobs),
        Column::new("STARTED", |worker| Cell::time(&worker["started_at"])),
        Column::new("HEARTBEAT", |worker| Cell::time(&worker["heartbeat_at"])),
        Column::new("VERSION", |worker| Cell::text(&worker["version"])),
        Column::new("SANDBOX", |worker| Cell::text(&worker["isolation"])),
        Column::new("MODELS", |worker| Cell::text(&worker["providers"])),
        Column::new("HOME", |worker| Cell::text(&worker["home"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Workers {
    /// List active workers
    List,
}

impl Verb for Workers {
    fn default() -> Self {
        Self::List
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        output.list(&client.list("/v1/workers", &[], None).await?, &KIND)?;
        Ok(Exit::Done)
    }
}

fn status(worker: &Value) -> Cell {
    let is_draining = worker["draining"] == true;
    Cell::Status(if is_draining { "draining" } else { "ready" }.to_owned())
}

fn jobs(worker: &Value) -> Cell {
    Cell::Text(format!("{}/{}", worker["running"], worker["slots"]))
}
