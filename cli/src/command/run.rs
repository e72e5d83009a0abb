use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use shared::asset::file_name;
use shared::id::JobId;
use shared::job::{Job, Output, Status};

use super::{print, print_json};
use crate::Exit;
use crate::args::Run;
use crate::client::Client;
use crate::config::Config;
use crate::progress::Progress;
use crate::session::Session;

/// `skillet run`
pub(super) async fn run(options: &Run, config: &Config) -> anyhow::Result<Exit> {
    let body = body(options)?;
    let session = Session::open(&options.remote, config).await?;
    let ran = run_in(&session.client, options, body).await;
    session.close().await?;
    ran
}

async fn run_in(client: &Client, options: &Run, mut body: Value) -> anyhow::Result<Exit> {
    let mut inputs = Vec::new();
    for input in &options.inputs {
        inputs.push(
            if input.starts_with("http://") || input.starts_with("https://") {
                json!({"url": input})
            } else {
                json!({"asset_id": client.upload_file(Path::new(input)).await?.id})
            },
        );
    }
    body["inputs"] = inputs.into();
    let job: Job = client.post("/v1/jobs", &body).await?;
    let (job, was_interrupted) = follow(client, job.id).await?;
    let saved = save(
        client,
        &job.result.outputs,
        &options.output_dir,
        options.force,
    )
    .await?;
    if options.json {
        print_json(&job)?;
    } else if let Some(text) = &job.result.text {
        print(text);
    }
    for path in saved {
        eprintln!("saved {}", path.display());
    }
    Ok(match job.status {
        Status::Completed => Exit::Done,
        _ if was_interrupted => Exit::Interrupted,
        _ => {
            let reason = job
                .result
                .error
                .map_or_else(|| "it was cancelled".to_owned(), |error| error.message);
            eprintln!("the job did not complete: {reason}");
            Exit::Failed
        }
    })
}

/// Follows a job to its end, showing what it does. The first Ctrl-C cancels it; whether there was one.
pub(super) async fn follow(client: &Client, job: JobId) -> anyhow::Result<(Job, bool)> {
    let mut progress = Progress::new();
    let mut events = client.follow(job);
    let mut was_interrupted = false;
    loop {
        tokio::select! {
            event = events.next() => match event? {
                Some(event) => progress.show(&event),
                None => break,
            },
            _ = tokio::signal::ctrl_c(), if !was_interrupted => {
                was_interrupted = true;
                client.cancel(job).await?;
            }
        }
    }
    progress.finish();
    Ok((client.job(job).await?, was_interrupted))
}

/// Saves outputs under their names; returns where. Nothing is saved if a name is taken.
pub(super) async fn save(
    client: &Client,
    outputs: &[Output],
    directory: &Path,
    overwrite: bool,
) -> anyhow::Result<Vec<PathBuf>> {
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let mut paths = Vec::new();
    for Output { asset, .. } in outputs {
        // The service says so, but it may not be ours.
        let path = directory.join(file_name(&asset.name));
        if !overwrite && path.exists() {
            bail!(
                "{} is there already; use --force to overwrite it, or -o for another directory",
                path.display()
            );
        }
        paths.push(path);
    }
    for (Output { asset, .. }, path) in outputs.iter().zip(&paths) {
        client.download(asset, path, overwrite).await?;
    }
    Ok(paths)
}

fn body(options: &Run) -> anyhow::Result<Value> {
    let prompt = if options.prompt == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        options.prompt.clone()
    };
    let mut parameters = Map::new();
    for parameter in &options.parameters {
        let (name, text) = parameter
            .split_once('=')
            .with_context(|| format!("`{parameter}` must be NAME=VALUE"))?;
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        parameters.insert(name.to_owned(), value);
    }
    let mut body = json!({"skill": options.skill, "prompt": prompt, "parameters": parameters});
    if let Some(model) = &options.model {
        body["model"] = model.to_string().into();
    }
    if let Some(seconds) = options.timeout {
        body["limits"] = json!({"timeout_seconds": seconds});
    }
    Ok(body)
}
