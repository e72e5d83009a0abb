//! Jobs that wait for their model, all in one worker: the memory of each.

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
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let model = ModelServer::start();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    model.script_with("stall", move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Reply::stall()
    });
    let mut service = Service::start(&bench.server, "waiting").await?;
    service
        .add_worker(&[
            ("SKILLET_SLOTS", JOBS.to_string()),
            ("OPENAI_BASE_URL", model.openai_base_url()),
            ("OPENAI_API_KEY", "sk-scripted".to_owned()),
        ])
        .await?;
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
    timeout(PATIENCE, all_wait)
        .await
        .context("not all jobs came to ask their model")?;
    // The first half of each reply is on its way to the log.
    sleep(Duration::from_secs(2)).await;
    let full = service.workers[0].rss_mib()?;
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
