//! `skillet jobs logs`.

use clap::Args;
use shared::event::Event;
use shared::id::JobId;
use skillet_client::Client;

use super::JobArgument;
use crate::event_line::EventLines;
use crate::exit::Exit;
use crate::output::OutputFormat;
use crate::terminal::{print, print_json};

#[derive(Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    one: JobArgument,
    /// Print new lines until the job ends
    #[arg(short, long)]
    follow: bool,
}

impl Logs {
    /// Prints the log on standard output: a line for each step, or with `--json` every event.
    pub(super) async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        let id = self.one.job;
        // Reports immediately that a job does not exist.
        client.job(id).await?;
        let mut lines = EventLines::default();
        let mut show = |event: &Event| -> anyhow::Result<()> {
            if output.json {
                return print_json(event);
            }
            if output.quiet {
                return print(&event.seq.to_string());
            }
            lines.of(event).iter().try_for_each(|line| print(line))
        };
        if !self.follow {
            let path = format!("/v1/jobs/{id}/events");
            for event in client.list(&path, &[], None).await? {
                show(&event)?;
            }
            return Ok(Exit::Done);
        }
        let mut events = client.follow(id);
        while let Some(event) = events.next().await? {
            show(&event)?;
        }
        Ok(Exit::of(&client.job(id).await?))
    }
}

/// Prints the events of a job as JSON until it ends.
pub(super) async fn print_events(client: &Client, job: JobId) -> anyhow::Result<()> {
    let mut events = client.follow(job);
    while let Some(event) = events.next().await? {
        print_json(&event)?;
    }
    Ok(())
}
