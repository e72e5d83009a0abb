//! `skillet assets`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use shared::asset::Asset;
use shared::id::{AssetId, JobId};
use skillet_client::Client;

use crate::args::parse_id;
use crate::complete;
use crate::download::{Existing, save_asset};
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |asset| Cell::text(&asset["id"])),
        Column::new("CREATED", |asset| Cell::time(&asset["created_at"])),
        Column::new("BYTES", |asset| Cell::text(&asset["size"])),
        Column::new("TYPE", |asset| Cell::text(&asset["content_type"])),
        Column::new("NAME", |asset| Cell::text(&asset["name"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Assets {
    /// List files, newest first
    List(ListAssetsOptions),
    /// Show a file's name, type, size and checksum
    Get(AssetArgument),
    /// Upload files
    Upload(UploadAssetsOptions),
    /// Download files
    Download(DownloadAssetsOptions),
    /// Delete files
    Delete(AssetArguments),
}

#[derive(Args, Default)]
pub(crate) struct ListAssetsOptions {
    /// Only files of this job
    #[arg(long, value_name = "ID", value_parser = parse_id::<JobId>, add = complete::jobs())]
    job: Option<JobId>,
    /// The maximum number of files [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

#[derive(Args)]
pub(crate) struct AssetArgument {
    /// The id of the file
    #[arg(value_name = "ASSET", value_parser = parse_id::<AssetId>, add = complete::assets())]
    asset: AssetId,
}

#[derive(Args)]
pub(crate) struct AssetArguments {
    /// The ids of the files
    #[arg(required = true, value_name = "ASSET", value_parser = parse_id::<AssetId>, add = complete::assets())]
    ids: Vec<AssetId>,
}

#[derive(Args)]
pub(crate) struct UploadAssetsOptions {
    /// The files to upload
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct DownloadAssetsOptions {
    #[command(flatten)]
    which: AssetArguments,
    /// The directory for the files
    #[arg(short, long = "output", default_value = ".", value_name = "DIR")]
    output_dir: PathBuf,
    /// Overwrite existing files instead of choosing another name
    #[arg(long)]
    force: bool,
}

impl Verb for Assets {
    fn default() -> Self {
        Self::List(ListAssetsOptions::default())
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List(options) => {
                let query: Vec<_> = options
                    .job
                    .iter()
                    .map(|job| ("job_id", job.to_string()))
                    .collect();
                let limit = options.limit.unwrap_or(20) as usize;
                output.list(
                    &client.list("/v1/assets", &query, Some(limit)).await?,
                    &KIND,
                )?;
            }
            Self::Get(AssetArgument { asset }) => {
                let asset: Value = client.get(&format!("/v1/assets/{asset}"), &[]).await?;
                output.fields(&KIND, &asset)?;
            }
            Self::Upload(UploadAssetsOptions { files }) => {
                for file in files {
                    let asset = client.upload(file).await?;
                    output.list(&[serde_json::to_value(asset)?], &KIND)?;
                }
            }
            Self::Download(options) => options.run(client, output).await?,
            Self::Delete(AssetArguments { ids }) => {
                for asset in ids {
                    client.delete(&format!("/v1/assets/{asset}")).await?;
                    output.done(&KIND, "deleted", &asset.to_string())?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

impl DownloadAssetsOptions {
    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<()> {
        for id in &self.which.ids {
            let asset: Asset = client.get(&format!("/v1/assets/{id}"), &[]).await?;
            let existing = Existing::overwrite_if(self.force);
            let path = save_asset(client, &asset, &self.output_dir, existing).await?;
            let saved = json!({"id": id, "path": path});
            output.one(&id.to_string(), &saved, || {
                crate::terminal::print(&path.display().to_string())
            })?;
        }
        Ok(())
    }
}
