//! A provider's quota that eight workers share, and the next model when a provider is down.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tests::model_server::{ModelServer, Reply};
use tokio::time::sleep;

use crate::Bench;
use crate::figure::{Figure, times};
use crate::load::Client;
use crate::service::Service;

const WORKERS: usize = 8;
/// The calls per second that the provider allows, and the maximum burst.
const RATE: f64 = 50.0;
const BURST: f64 = 2.0 * RATE;
/// The number of jobs that call the model all the time, which is more than the quota allows.
const JOBS: usize = 256;
/// The time in which the jobs start, before the measurement.
const WARM_UP: Duration = Duration::from_secs(5);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = shared_quota(bench).await?;
    figures.extend(fallback(bench).await?);
    Ok(figures)
}

/// A provider that answers 429 beyond its limit, which is a token bucket.
struct LimitedProvider {
    bucket: Mutex<(f64, Instant)>,
    answered: AtomicUsize,
    refused: AtomicUsize,
}

impl LimitedProvider {
    fn answer(&self, turn: usize) -> Reply {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let (calls, filled_at) = &mut *bucket;
        let now = Instant::now();
        *calls = (*calls + (now - *filled_at).as_secs_f64() * RATE).min(BURST);
        *filled_at = now;
        if *calls < 1.0 {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Reply::status(429);
        }
        *calls -= 1.0;
        self.answered.fetch_add(1, Ordering::Relaxed);
        // A call of a tool that does not exist takes no time.
        Reply::call("no_such_tool", json!({"turn": turn}))
    }
}

async fn shared_quota(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let model = ModelServer::start();
    let provider = Arc::new(LimitedProvider {
        bucket: Mutex::new((BURST, Instant::now())),
        answered: AtomicUsize::new(0),
        refused: AtomicUsize::new(0),
    });
    let asked = provider.clone();
    model.script_with("quota", move |request| asked.answer(request.turn()));
    let config = bench.server.home().join("quota.toml");
    let url = model.openai_base_url();
    let limit = RATE * 60.0;
    let table =
        format!("[providers.openai]\nbase_url = \"{url}\"\nrequests_per_minute = {limit}\n");
    std::fs::write(&config, table)?;
    let mut service = Service::start(&bench.server, "quota").await?;
    for _ in 0..WORKERS {
        let environment = [
            ("SKILLET_CONFIG", config.display().to_string()),
            ("OPENAI_API_KEY", "sk-scripted".to_owned()),
        ];
        service.add_worker(&environment).await?;
    }
    service.settle().await?;
    let body = json!({
        "skill": "shell", "model": "openai/scripted", "prompt": "#quota", "limits": {"max_iterations": 1000}
    });
    let client = Client::with(&service, body)?;
    let submitted = stream::iter(0..JOBS).map(|_| client.submit());
    submitted
        .buffer_unordered(16)
        .try_for_each(async |_| Ok(()))
        .await?;
    sleep(WARM_UP).await;
    let count = async || -> anyhow::Result<(f64, f64)> {
        let leases = sqlx::query_scalar::<_, i64>(
            "select n_tup_upd from pg_stat_user_tables where relname = 'provider_account'",
        );
        let leases = leases.fetch_one(&service.pool).await?;
        Ok((
            provider.answered.load(Ordering::Relaxed) as f64,
            leases as f64,
        ))
    };
    let (before, leases_before) = count().await?;
    let begun_at = Instant::now();
    sleep(bench.scale.lasting(Duration::from_secs(30))).await;
    let (after, leases_after) = count().await?;
    let (calls, allowed) = (after - before, RATE * begun_at.elapsed().as_secs_f64());
    let refused = provider.refused.load(Ordering::Relaxed) as f64;
    Ok(vec![
        Figure::new(
            "use of a provider's quota by 8 workers",
            100.0 * calls / allowed,
            "%",
        )
        .at_least(95.0),
        Figure::new("429 answers meanwhile", refused, "").at_most(0.0),
        Figure::new(
            "statements for the quota, per call",
            (leases_after - leases_before) / calls,
            "",
        )
        .at_most(0.5),
    ])
}

async fn fallback(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let model = ModelServer::start();
    model.script_with("next", |_| Reply::text("ok"));
    let mut service = Service::start(&bench.server, "fallback").await?;
    let environment = [
        // Nothing listens there.
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1".to_owned()),
        ("ANTHROPIC_API_KEY", "sk-scripted".to_owned()),
        ("OPENAI_BASE_URL", model.openai_base_url()),
        ("OPENAI_API_KEY", "sk-scripted".to_owned()),
    ];
    service.add_worker(&environment).await?;
    service.settle().await?;
    let body = json!({
        "skill": "shell", "model": ["anthropic/down", "openai/scripted"], "prompt": "#next"
    });
    let client = Client::with(&service, body)?;
    let mut millis = Vec::new();
    for number in 0..bench.scale.count(100) {
        let begun_at = Instant::now();
        let job = client.run().await?;
        anyhow::ensure!(job["attempt"] == 1, "an attempt was lost: {job}");
        let requests = model.requests("next");
        let asked = requests
            .get(number)
            .context("the fallback model was not called")?;
        millis.push((asked.at - begun_at).as_secs_f64() * 1e3);
    }
    let name = "job → its next model is asked, provider down";
    Ok(times(name, &millis, Some((1000.0, 1000.0))).into())
}
