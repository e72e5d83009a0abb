//! `skillet run`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::pin;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use shared::asset::file_name;
use shared::id::JobId;
use shared::job::{Job, Output, Status};
use tokio::signal::unix::Signal;

use super::{print, print_json};
use crate::Exit;
use crate::approval_prompt::ApprovalPrompt;
use crate::args::Run;
use crate::client::Client;
use crate::config::Config;
use crate::progress::Progress;
use crate::session::Session;

/// `skillet run`
pub(super) async fn run(options: &Run, config: &Config) -> anyhow::Result<Exit> {
    let body = body(options)?;
    let run = async |session: &Session, interrupt: &mut Signal| {
        run_in(&session.client, options, body, interrupt).await
    };
    Session::with_interrupt(&options.remote, config, &[], run).await
}

async fn run_in(
    client: &Client,
    options: &Run,
    mut body: Value,
    interrupt: &mut Signal,
) -> anyhow::Result<Exit> {
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
    let (job, was_interrupted) = follow(client, job.id, interrupt).await?;
    if options.json {
        print_json(&job)?;
    } else if let Some(text) = &job.result.text {
        print(text);
    }
    let saved = save(
        client,
        &job.result.outputs,
        &options.output_dir,
        options.force,
    )
    .await?;
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
pub(super) async fn follow(
    client: &Client,
    job: JobId,
    interrupt: &mut Signal,
) -> anyhow::Result<(Job, bool)> {
    let mut was_interrupted = false;
    {
        let mut watching = pin!(watch(client, job));
        loop {
            tokio::select! {
                watched = &mut watching => break watched?,
                _ = interrupt.recv(), if !was_interrupted => {
                    was_interrupted = true;
                    client.cancel(job).await?;
                }
            }
        }
    }
    Ok((client.job(job).await?, was_interrupted))
}

/// Shows what a job does until it ends, and asks about its calls that wait for a person.
pub(super) async fn watch(client: &Client, job: JobId) -> anyhow::Result<()> {
    let progress = Progress::new();
    let turning = progress.turning();
    tokio::select! {
        watched = watch_with(client, job, progress) => watched,
        never = turning => match never {},
    }
}

async fn watch_with(client: &Client, job: JobId, mut progress: Progress) -> anyhow::Result<()> {
    let mut prompt = ApprovalPrompt::new(client, job);
    let mut events = client.follow(job);
    loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event? else { break };
                progress.show(&event);
                prompt.hear(&event, &mut progress).await?;
            }
            // What was typed is read here and sent there, where nothing breaks it off.
            line = prompt.line() => prompt.answer(line?, &mut progress).await?,
        }
    }
    progress.finish();
    Ok(())
}

/// Saves outputs under their names, numbered where several have the same; returns where. Nothing is saved if
/// a file exists already.
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
        let path = free_path(directory, &file_name(&asset.name), &paths);
        if !overwrite && path.exists() {
            bail!(
                "{} exists already; use --force to overwrite it, or -o for another directory",
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

/// `a.csv`, `a-2.csv`, `a-3.csv`, …
fn free_path(directory: &Path, name: &str, taken: &[PathBuf]) -> PathBuf {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let numbered = (2..).map(|number| format!("{stem}-{number}{extension}"));
    let paths = std::iter::once(name.to_owned())
        .chain(numbered)
        .map(|name| directory.join(name));
    let mut free = paths.filter(|path| !taken.contains(path));
    free.next().expect("numbers do not end")
}

fn body(options: &Run) -> anyhow::Result<Value> {
    let first = &options.skill_or_prompt;
    let (runs, name, prompt) = match (&options.agent, &options.prompt) {
        (Some(agent), _) => ("agent", agent, first),
        (None, prompt) => {
            let prompt = prompt.as_ref().expect("clap wants it beside a skill");
            ("skill", first, prompt)
        }
    };
    let prompt = if prompt == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        prompt.clone()
    };
    let parameters: Map<String, Value> = options.parameters.iter().cloned().collect();
    let mut body = json!({runs: name, "prompt": prompt, "parameters": parameters});
    if let Some(conversation) = options.conversation {
        body["conversation_id"] = json!(conversation);
    }
    if let Some(model) = &options.model {
        body["model"] = model.to_string().into();
    }
    if let Some(seconds) = options.timeout {
        body["limits"] = json!({"timeout_seconds": seconds});
    }
    Ok(body)
}
