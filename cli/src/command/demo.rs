//! `skillet demo`: jobs on sample files, with a model that needs no key.

mod demo_api;
mod page;
mod step;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use ipnet::IpNet;
use serde_json::{Map, Value, json};
use shared::job::{Job, Status};
use skillet_client::{Client, JobLimits, NewJob};
use tokio::signal::unix::Signal;

use crate::args::Remote;
use crate::config::Config;
use crate::desktop;
use crate::download::{Existing, save_outputs};
use crate::exit::Exit;
use crate::follow::{Followed, follow};
use crate::session::Session;
use crate::terminal::print;

use demo_api::DemoApi;
use page::PageEntry;
use step::{ALL, BOOKS, DemoStep, FIRST, INPUTS};

const NEXT: &str = "
Next, with a real model (OPENAI_API_KEY and -m openai/gpt-5 do as well):
   export ANTHROPIC_API_KEY=…
   skillet run image \"Draw the bread as a line chart\" -i BAKERY -m anthropic/claude-sonnet-4-5
Or as a service, with its API at http://127.0.0.1:8420/docs:
   skillet up";

#[derive(Args)]
pub(crate) struct Demo {
    /// The directory for the files of the jobs
    #[arg(short, long = "output", default_value = "skillet-demo")]
    output_dir: PathBuf,
    /// Run a job for each skill that needs no account
    #[arg(long)]
    all: bool,
    /// Print the path of the results page instead of opening it in a browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// `skillet demo`
pub(super) async fn demo(options: &Demo, config: &Config) -> anyhow::Result<Exit> {
    let how_many = steps(options).len();
    print(&format!(
        "Skillet demo: {how_many} jobs. The model is script/bash, which needs no key: it runs the commands in the",
    ))?;
    print("prompt. Everything else is real: database, queue, worker, sandbox, files.\n")?;
    let demo_api = options.all.then(|| DemoApi::open(BOOKS).ok()).flatten();
    let opened: Vec<_> = demo_api.iter().map(|it| IpNet::from(it.address)).collect();
    let run = async |session: &Session, interrupt: &mut Signal| {
        run_all(session, options, demo_api.as_ref(), interrupt).await
    };
    Session::with_interrupt(&options.remote, config, &opened, run).await
}

fn steps(options: &Demo) -> Vec<&'static DemoStep> {
    let more: &[DemoStep] = if options.all { &ALL } else { &[] };
    FIRST.iter().chain(more).collect()
}

async fn run_all(
    session: &Session,
    options: &Demo,
    demo_api: Option<&DemoApi>,
    interrupt: &mut Signal,
) -> anyhow::Result<Exit> {
    let client = &session.client;
    let mut entries = Vec::new();
    let mut all_done = true;
    for step in steps(options) {
        print(&format!("── {} (skill {})", step.what, step.skill))?;
        let skill: Value = client
            .get(&format!("/v1/skills/{}", step.skill), &[])
            .await?;
        if let Some(lacking) = lacking(step, &skill, session, demo_api) {
            print(&format!("skipped: {lacking}\n"))?;
            continue;
        }
        let followed = run_step(client, step, demo_api, interrupt).await?;
        let Followed::Ended {
            job,
            was_interrupted: false,
        } = followed
        else {
            return Ok(Exit::Interrupted);
        };
        print(&format!(
            "{}\n",
            job.result.text.as_deref().unwrap_or_default()
        ))?;
        if job.status == Status::Completed && job.result.outputs.len() == step.outputs {
            entries.push(PageEntry {
                step,
                text: job.result.text.clone().unwrap_or_default(),
                files: save(client, &job, options).await?,
            });
        } else {
            let reason = job
                .result
                .error
                .map_or("it did not create the expected files".to_owned(), |error| {
                    error.message
                });
            print(&format!("the job {} failed: {reason}\n", job.id))?;
            all_done = false;
        }
    }
    print("── Done. Results:")?;
    let mut saved: Vec<PathBuf> = entries
        .iter()
        .flat_map(|entry| entry.files.clone())
        .collect();
    saved.push(page::write(&options.output_dir, &entries)?);
    for path in &mut saved {
        *path = std::path::absolute(&*path).context("the path of a saved file")?;
        print(&format!("   {}", path.display()))?;
    }
    // The suggested command must work without a copy of the repository.
    let books = options.output_dir.join("bakery.csv");
    std::fs::write(&books, BOOKS).with_context(|| format!("cannot write {}", books.display()))?;
    print(&NEXT.replace("BAKERY", &books.display().to_string()))?;
    if let Some(index) = saved.last() {
        show(index, options)?;
    }
    Ok(if all_done { Exit::Done } else { Exit::Failed })
}

/// Opens the results page in a browser. Without a desktop, or with `--no-open`, prints its path.
fn show(index: &Path, options: &Demo) -> anyhow::Result<()> {
    let is_opened =
        !options.no_open && desktop::open(&index.display().to_string()).unwrap_or(false);
    print(&match is_opened {
        true => format!("\nOpened {}", index.display()),
        false => format!(
            "\nTo see all results on one page, open {} in a browser",
            index.display()
        ),
    })
}

/// Saves the files of a job. They replace the files of an earlier demo.
async fn save(client: &Client, job: &Job, options: &Demo) -> anyhow::Result<Vec<PathBuf>> {
    let (outputs, folder) = (&job.result.outputs, &options.output_dir);
    save_outputs(client, job.id, outputs, folder, Existing::Overwrite).await
}

/// Returns the reason why this step cannot run, or `None` if it can.
fn lacking(
    step: &DemoStep,
    skill: &Value,
    session: &Session,
    demo_api: Option<&DemoApi>,
) -> Option<String> {
    if skill["available"] != true {
        Some(format!("this machine lacks {}", skill["missing"]))
    } else if step.needs_browser && lacks_browser(skill) {
        Some("this machine lacks Chromium".to_owned())
    } else if step.uses_demo_api && !session.is_own() {
        Some("jobs of a running service cannot reach the API of this demo".to_owned())
    } else if step.uses_demo_api && demo_api.is_none() {
        Some("this machine cannot be reached by its host name".to_owned())
    } else {
        None
    }
}

/// Whether no worker has the browser, which is optional for the skill.
fn lacks_browser(skill: &Value) -> bool {
    let missing = skill["missing_optional"].as_array().into_iter().flatten();
    missing
        .filter_map(Value::as_str)
        .any(|need| need.contains("chromium"))
}

async fn run_step(
    client: &Client,
    step: &DemoStep,
    demo_api: Option<&DemoApi>,
    interrupt: &mut Signal,
) -> anyhow::Result<Followed> {
    let files = INPUTS.iter().filter(|_| step.takes_files);
    let (prompt, parameters) = match demo_api.filter(|_| step.uses_demo_api) {
        Some(DemoApi { url, .. }) => (
            step.prompt.replace("BAKERY", url),
            Map::from_iter([("hosts".to_owned(), json!([url]))]),
        ),
        None => (step.prompt.to_owned(), Map::new()),
    };
    let job = NewJob {
        files: files.map(|file| (*file).into()).collect(),
        parameters,
        limits: JobLimits {
            max_iterations: Some(50),
            ..JobLimits::default()
        },
        ..NewJob::skill(step.skill, prompt).model("script/bash")
    };
    let job = client.submit(job).await?;
    follow(client, &job, interrupt).await
}
