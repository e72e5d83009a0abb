//! `skillet eval`: tasks for skills, run by a model, checked by commands, and shown in a report.

mod attempt;
mod check_script;
mod picture;
mod report;
mod report_file;
mod task;
mod task_list;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use futures_util::{StreamExt, stream};
use shared::model_name::ModelName;
use skillet_client::Client;

use crate::args::ClientOptions;
use crate::complete;
use crate::config::Config;
use crate::exit::Exit;
use crate::output::{dollars, seconds};
use crate::session::Session;
use crate::terminal::{print, print_json, say};
use attempt::{Attempt, Runner, Verdict};
use report::ReportHeader;
use task::Task;

#[derive(Args)]
pub(crate) struct Eval {
    /// Task files, or folders with task files [default: the built-in tasks]
    #[arg(value_name = "FILE|DIR")]
    places: Vec<PathBuf>,
    /// Run only tasks whose name contains this text, or whose skill has this name (repeatable)
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// The model and its fallbacks, separated by commas. script/bash runs the solution of each task [default: the model
    /// of the service]
    #[arg(short, long, value_delimiter = ',', add = complete::models())]
    model: Vec<ModelName>,
    /// The number of tasks that run at the same time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// The file for the report, a self-contained HTML page
    #[arg(
        short = 'o',
        long = "output",
        default_value = "skillet-eval.html",
        value_name = "FILE"
    )]
    report: PathBuf,
    /// Do not render pictures of documents, pages and films
    #[arg(long)]
    no_pictures: bool,
    /// List the tasks without running them
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    pub(crate) options: ClientOptions,
}

/// `skillet eval`
pub(super) async fn eval(options: &Eval, config: &Config) -> anyhow::Result<Exit> {
    let tasks = task_list::read(&options.places, &options.only)?;
    if options.list {
        for task in &tasks {
            print(&format!("{}\t{}\t{}", task.name, task.skill, task.title()))?;
        }
        return Ok(Exit::Done);
    }
    let run = async |client: &Client| run_all(client, options, &tasks).await;
    Session::with(&options.options.remote, config, run).await
}

async fn run_all(client: &Client, options: &Eval, tasks: &[Task]) -> anyhow::Result<Exit> {
    let runner = Runner {
        client,
        models: names(&options.model),
        secrets: attempt::secrets(client).await?,
        draws: !options.no_pictures,
    };
    let began = Instant::now();
    let running = tasks.iter().map(|task| async {
        let attempt = runner.run(task).await?;
        say(&line(&attempt));
        anyhow::Ok(attempt)
    });
    let mut running = stream::iter(running).buffered(options.jobs.into());
    let mut attempts = Vec::new();
    while let Some(attempt) = running.next().await {
        attempts.push(attempt?);
    }
    let header = ReportHeader {
        model: model_of(&attempts, options),
        elapsed: began.elapsed(),
    };
    report::write(&options.report, &header, &attempts)?;
    let count = |verdict: fn(&Verdict) -> bool| {
        let attempts = attempts.iter();
        attempts.filter(|it| verdict(&it.verdict)).count()
    };
    let passed = count(|verdict| matches!(verdict, Verdict::Passed));
    let failed = count(|verdict| matches!(verdict, Verdict::Failed { .. }));
    let skipped = count(|verdict| matches!(verdict, Verdict::Skipped { .. }));
    if options.options.output.json {
        for attempt in &attempts {
            print_json(&attempt.summary())?;
        }
    } else if options.options.output.quiet {
        let mut failures = attempts.iter().filter(|it| it.verdict.is_failure());
        failures.try_for_each(|it| print(&it.task.name))?;
    } else {
        print(&format!(
            "{passed} passed, {failed} failed, {skipped} skipped; the report is {}",
            options.report.display()
        ))?;
    }
    Ok(if failed == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn model_of(attempts: &[Attempt<'_>], options: &Eval) -> String {
    let ran = attempts.iter().find_map(|it| it.job.as_ref());
    match (options.model.as_slice(), ran) {
        ([], Some(job)) => job.model.to_string(),
        (asked, _) => names(asked).join(", "),
    }
}

fn names(models: &[ModelName]) -> Vec<String> {
    models.iter().map(ModelName::to_string).collect()
}

/// The line about a finished task.
fn line(attempt: &Attempt<'_>) -> String {
    let name = &attempt.task.name;
    let mut used = Vec::new();
    if let Some(job) = &attempt.job {
        used.extend(job.duration_ms.map(seconds));
        used.extend(
            job.result
                .usage
                .tokens
                .cost_usd
                .map(|cost| dollars(cost.to_f64())),
        );
    }
    let used = match used.join(", ") {
        none if none.is_empty() => none,
        used => format!(" ({used})"),
    };
    match &attempt.verdict {
        Verdict::Passed => format!("✓ {name}{used}"),
        Verdict::Failed { reasons } => {
            let reasons: Vec<_> = reasons.iter().map(|it| format!("\n    {it}")).collect();
            format!("✗ {name}{used}{}", reasons.concat())
        }
        Verdict::Skipped { reason } => format!("– {name}: {reason}"),
    }
}
