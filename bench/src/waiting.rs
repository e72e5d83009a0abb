//! Jobs that wait for their model, all in one worker: memory per job, before and after their first command.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tests::model_server::{ModelServer, Reply};
use tokio::time::{sleep, timeout};

use crate::Bench;
use crate::figure::Figure;
use crate::load::Client;
use crate::service::Service;

const JOBS: usize = 1000;
const TIMEOUT: Duration = Duration::from_secs(300);
/// The maximum number of threads of a worker: those of its runtime and some that block. A stalled provider occupies
/// none.
const MAX_THREADS: f64 = 64.0;

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for when in [WhenWaiting::AtOnce, WhenWaiting::AfterCommand] {
        figures.extend(of_a_worker(bench, when).await?);
    }
    Ok(figures)
}

#[derive(Clone, Copy, PartialEq)]
enum WhenWaiting {
    /// For the first reply of the model.
    AtOnce,
    /// For the second reply, after a command.
    AfterCommand,
}

async fn of_a_worker(bench: &Bench, when: WhenWaiting) -> anyhow::Result<Vec<Figure>> {
    let model = ModelServer::start();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    model.script_with("stall", move |request| {
        if when == WhenWaiting::AfterCommand && request.turn() == 0 {
            return Reply::call(
                "execute_bash",
                json!({"command": "echo $((6 * 7)) > answer"}),
            );
        }
        count.fetch_add(1, Ordering::Relaxed);
        Reply::stall()
    });
    let name = match when {
        WhenWaiting::AtOnce => "waiting",
        WhenWaiting::AfterCommand => "waiting_after",
    };
    let mut service = Service::start(&bench.server, name).await?;
    service
        .add_worker(&[
            ("SKILLET_SLOTS", JOBS.to_string()),
            ("OPENAI_BASE_URL", model.openai_base_url()),
            ("OPENAI_API_KEY", "sk-scripted".to_owned()),
        ])
        .await?;
    service.settle().await?;
    let idle = service.workers[0].rss_mib()?;
    let body = json!({"skill": "shell", "model": "openai/scripted", "prompt": "#stall"});
    let client = Client::with(&service, body)?;
    let submitted = stream::iter(0..JOBS).map(|_| client.submit());
    submitted
        .buffer_unordered(16)
        .try_for_each(async |_| Ok(()))
        .await?;
    let all_wait = async {
        while asked.load(Ordering::Relaxed) < JOBS {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, all_wait)
        .await
        .context("not every job called its model")?;
    // The first half of each reply is still being written to the log.
    sleep(Duration::from_secs(2)).await;
    let worker = &service.workers[0];
    if when == WhenWaiting::AfterCommand {
        let name = "1,000 jobs waiting for their model after a command";
        let all = worker.pss_mib_of_tree()?;
        let threads = worker.threads()? as f64;
        return Ok(vec![
            Figure::new(
                format!("memory of a worker and all it started, {name}"),
                all,
                "MiB",
            )
            .at_most(150.0),
            Figure::new(
                format!("of that, the worker, {name}"),
                worker.rss_mib()?,
                "MiB",
            ),
            Figure::new(
                format!("processes that the worker started, {name}"),
                worker.below()? as f64,
                "",
            ),
            Figure::new(format!("threads of the worker, {name}"), threads, "").at_most(MAX_THREADS),
        ]);
    }
    let full = worker.rss_mib()?;
    Ok(vec![
        Figure::new(
            "memory of a worker with 1,000 jobs waiting for their model",
            full,
            "MiB",
        )
        .at_most(100.0),
        Figure::new(
            "the same, per job",
            (full - idle) * 1024.0 / JOBS as f64,
            "KiB",
        ),
    ])
}
