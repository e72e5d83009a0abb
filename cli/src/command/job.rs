use serde_json::Value;
use shared::job::{Job, Status};

use super::{print, print_json};
use crate::Exit;
use crate::args::{List, OneJob, Watch};
use crate::config::Config;
use crate::session::Session;

/// `skillet watch`
pub(super) async fn watch(options: &Watch, config: &Config) -> anyhow::Result<Exit> {
    let session = Session::open(&options.remote, config).await?;
    // A job that is not there, or not ours, is said at once.
    session.client.job(options.job).await?;
    let exit = if options.json {
        let mut events = session.client.follow(options.job);
        while let Some(event) = events.next().await? {
            print(&serde_json::to_string(&event)?);
        }
        exit_of(&session.client.job(options.job).await?)
    } else {
        let mut progress = crate::progress::Progress::new();
        let mut events = session.client.follow(options.job);
        while let Some(event) = events.next().await? {
            progress.show(&event);
        }
        progress.finish();
        let job = session.client.job(options.job).await?;
        show(&job);
        exit_of(&job)
    };
    session.close().await?;
    Ok(exit)
}

/// `skillet get`
pub(super) async fn get(options: &OneJob, config: &Config) -> anyhow::Result<Exit> {
    let session = Session::open(&options.remote, config).await?;
    let job = session.client.job(options.job).await?;
    show_as(&job, options.json)?;
    session.close().await?;
    Ok(Exit::Done)
}

/// `skillet cancel`
pub(super) async fn cancel(options: &OneJob, config: &Config) -> anyhow::Result<Exit> {
    let session = Session::open(&options.remote, config).await?;
    let job = session.client.cancel(options.job).await?;
    show_as(&job, options.json)?;
    session.close().await?;
    Ok(Exit::Done)
}

/// `skillet list`
pub(super) async fn list(options: &List, config: &Config) -> anyhow::Result<Exit> {
    let session = Session::open(&options.remote, config).await?;
    let mut query = vec![("limit", options.limit.to_string())];
    query.extend(
        options
            .status
            .map(|status| ("status", status.as_str().to_owned())),
    );
    query.extend(options.skill.clone().map(|skill| ("skill", skill)));
    let page: Value = session.client.get("/v1/jobs", &query).await?;
    if options.json {
        print_json(&page["data"])?;
    } else {
        let jobs: Vec<Job> = serde_json::from_value(page["data"].clone())?;
        for job in jobs {
            let what = job.skill.or(job.agent).unwrap_or_default();
            let created_at = job.created_at.format("%Y-%m-%d %H:%M:%S");
            print(&format!(
                "{}  {:9}  {created_at}  {what}  {}",
                job.id,
                job.status.as_str(),
                job.model
            ));
        }
    }
    session.close().await?;
    Ok(Exit::Done)
}

fn show_as(job: &Job, json: bool) -> anyhow::Result<()> {
    if json { print_json(job) } else { Ok(show(job)) }
}

fn show(job: &Job) {
    print(&format!("{}  {}", job.id, job.status.as_str()));
    if let Some(text) = &job.result.text {
        print(text);
    }
    for output in &job.result.outputs {
        let asset = &output.asset;
        print(&format!(
            "{}: {} ({}, {} bytes)",
            output.output.as_str(),
            asset.name,
            asset.content_type,
            asset.size
        ));
    }
    if let Some(error) = &job.result.error {
        print(&format!("error: {error}"));
    }
}

fn exit_of(job: &Job) -> Exit {
    if job.status == Status::Completed {
        Exit::Done
    } else {
        Exit::Failed
    }
}
