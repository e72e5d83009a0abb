//! `skillet watch`, `skillet jobs` and `skillet cancel`.

use serde_json::Value;
use shared::job::{Job, Status};

use super::{print, print_json, run};
use crate::Exit;
use crate::args::{List, OneJob, Watch};
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

/// `skillet watch`
pub(super) async fn watch(options: &Watch, config: &Config) -> anyhow::Result<Exit> {
    let watch = async |client: &Client| {
        // A job that is not there, or not ours, is said at once.
        client.job(options.job).await?;
        if options.json {
            let mut events = client.follow(options.job);
            while let Some(event) = events.next().await? {
                print(&serde_json::to_string(&event)?);
            }
        } else {
            run::watch(client, options.job).await?;
        }
        let job = client.job(options.job).await?;
        if !options.json {
            show(&job);
        }
        Ok(if job.status == Status::Completed {
            Exit::Done
        } else {
            Exit::Failed
        })
    };
    Session::with(&options.remote, config, watch).await
}

/// `skillet get`
pub(super) async fn get(options: &OneJob, config: &Config) -> anyhow::Result<Exit> {
    let get = async |client: &Client| show_as(&client.job(options.job).await?, options.json);
    Session::with(&options.remote, config, get).await
}

/// `skillet cancel`
pub(super) async fn cancel(options: &OneJob, config: &Config) -> anyhow::Result<Exit> {
    let cancel = async |client: &Client| show_as(&client.cancel(options.job).await?, options.json);
    Session::with(&options.remote, config, cancel).await
}

/// `skillet list`
pub(super) async fn list(options: &List, config: &Config) -> anyhow::Result<Exit> {
    let mut query = vec![("limit", options.limit.to_string())];
    query.extend(
        options
            .status
            .map(|status| ("status", status.as_str().to_owned())),
    );
    query.extend(options.skill.clone().map(|skill| ("skill", skill)));
    query.extend(options.agent.clone().map(|agent| ("agent", agent)));
    let list = async |client: &Client| {
        let page: Value = client.get("/v1/jobs", &query).await?;
        if options.json {
            print_json(&page["data"])?;
            return Ok(Exit::Done);
        }
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
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, list).await
}

fn show_as(job: &Job, json: bool) -> anyhow::Result<Exit> {
    if json {
        print_json(job)?;
    } else {
        show(job);
    }
    Ok(Exit::Done)
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
            output.kind.as_str(),
            asset.name,
            asset.content_type,
            asset.size
        ));
    }
    if let Some(error) = &job.result.error {
        print(&format!("error: {error}"));
    }
}
