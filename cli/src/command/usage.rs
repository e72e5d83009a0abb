//! `skillet usage`.

use chrono::NaiveDate;
use clap::{Args, Subcommand};
use serde_json::Value;
use skillet_client::Client;

use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, dollars, seconds};

const KIND: ResourceKind = ResourceKind {
    id: "key",
    columns: &[
        Column::new("KEY", key),
        Column::new("COMPLETED", |group| Cell::text(&group["completed"])),
        Column::new("FAILED", |group| Cell::text(&group["failed"])),
        Column::new("CANCELLED", |group| Cell::text(&group["cancelled"])),
        Column::new("INPUT TOKENS", |group| Cell::text(&group["input_tokens"])),
        Column::new("OUTPUT TOKENS", |group| Cell::text(&group["output_tokens"])),
        Column::new("TIME", time),
        Column::new("COST", cost),
    ],
};

const DEFAULT_GROUP: &str = "day";

#[derive(Subcommand)]
pub(crate) enum UsageVerb {
    /// Show the usage of jobs in a period
    Show(UsageOptions),
}

#[derive(Args)]
pub(crate) struct UsageOptions {
    /// Group the usage by day, skill, agent or model
    #[arg(long, value_name = "GROUP", default_value = DEFAULT_GROUP, value_parser = ["day", "skill", "agent", "model"])]
    by: String,
    /// The first day (UTC), such as 2026-11-01 [default: 29 days before the last day]
    #[arg(long, value_name = "DAY")]
    from: Option<NaiveDate>,
    /// The last day (UTC) [default: today]
    #[arg(long, value_name = "DAY")]
    to: Option<NaiveDate>,
}

impl Verb for UsageVerb {
    fn default() -> Self {
        Self::Show(UsageOptions {
            by: DEFAULT_GROUP.to_owned(),
            from: None,
            to: None,
        })
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        let Self::Show(UsageOptions { by, from, to }) = self;
        let mut query = vec![("by", by.clone())];
        query.extend(from.map(|day| ("from", day.to_string())));
        query.extend(to.map(|day| ("to", day.to_string())));
        output.list(&client.list("/v1/usage", &query, None).await?, &KIND)?;
        Ok(Exit::Done)
    }
}

fn key(group: &Value) -> Cell {
    match &group["key"] {
        Value::Null => Cell::Text("(none)".to_owned()),
        key => Cell::text(key),
    }
}

fn time(group: &Value) -> Cell {
    Cell::Text(seconds(group["duration_ms"].as_i64().unwrap_or_default()))
}

fn cost(group: &Value) -> Cell {
    let cost = group["cost_usd"].as_f64().unwrap_or_default();
    Cell::Text(dollars(cost))
}
