//! `skillet jobs download`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use skillet_client::Client;

use super::JobArgument;
use crate::download::{Existing, save_outputs};
use crate::output::OutputFormat;
use crate::terminal::{print, say};

#[derive(Args)]
pub(crate) struct DownloadOutputsOptions {
    #[command(flatten)]
    one: JobArgument,
    /// The directory for the files
    #[arg(short, long = "output", default_value = ".", value_name = "DIR")]
    output_dir: PathBuf,
    /// Overwrite existing files instead of choosing another name
    #[arg(long)]
    force: bool,
}

impl DownloadOutputsOptions {
    pub(super) async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<()> {
        let job = client.job(self.one.job).await?;
        let outputs = &job.result.outputs;
        if outputs.is_empty() {
            say(&format!(
                "{} has no files ({})",
                job.id,
                job.status.as_str()
            ));
        }
        let existing = Existing::overwrite_if(self.force);
        let paths = save_outputs(client, job.id, outputs, &self.output_dir, existing).await?;
        for (saved, path) in outputs.iter().zip(paths) {
            let id = saved.asset.id;
            let entry = json!({"id": id, "path": path});
            output.one(&id.to_string(), &entry, || {
                print(&path.display().to_string())
            })?;
        }
        Ok(())
    }
}
