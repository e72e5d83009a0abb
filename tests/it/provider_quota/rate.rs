//! Requests per minute, which eight workers share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::model_server::{Reply, Request};

use super::{CLAUDE, service};
use crate::support::{scripted, until};

const WORKERS: usize = 8;
/// Requests per second that the provider allows.
const RATE: f64 = 4.0;
/// Requests that it takes at once.
const BURST: f64 = 3.0 * RATE;
/// The requests over which the use of the quota is measured.
const MEASURED: usize = 40;

/// A provider's limit: a bucket of tokens that fills steadily.
struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

impl Bucket {
    fn take(&mut self) -> bool {
        let now = Instant::now();
        let filled = (now - self.filled_at).as_secs_f64() * RATE;
        self.tokens = (self.tokens + filled).min(BURST);
        self.filled_at = now;
        let has_one = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(has_one));
        has_one
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_workers_use_a_quota_up_and_never_exceed_it() {
    let mut service = service(&format!("requests_per_minute = {}\n", RATE * 60.0)).await;
    for _ in 0..WORKERS {
        service.add_worker(&[("SKILLET_SLOTS", "2")]).await;
    }
    let bucket = Mutex::new(Bucket {
        tokens: BURST,
        filled_at: Instant::now(),
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let refused = Arc::new(AtomicBool::new(false));
    let (over, refuses) = (is_over.clone(), refused.clone());
    service
        .model
        .script_with("shared", move |request: &Request| {
            if !bucket.lock().unwrap().take() {
                refuses.store(true, Ordering::Relaxed);
                return Reply::status(429);
            }
            if over.load(Ordering::Relaxed) {
                return Reply::text("enough");
            }
            // A tool that does not exist costs no time.
            Reply::call("no_such_tool", json!({"turn": request.turn()}))
        });
    let mut jobs = Vec::new();
    for _ in 0..2 * WORKERS {
        let mut body = scripted(CLAUDE, "shared");
        body["limits"] = json!({"max_iterations": 1000});
        jobs.push(service.create(&body).await);
    }
    let begun_at = Instant::now();
    let rate = || {
        let requests = service.model.requests("shared");
        let last = requests.last()?.at;
        let first = requests.get(requests.len().checked_sub(MEASURED + 1)?)?.at;
        Some(MEASURED as f64 / (last - first).as_secs_f64())
    };
    // A machine that is busy for a moment gets another chance.
    until(async || rate().is_some_and(|rate| rate > 0.95 * RATE)).await;
    println!(
        "{:.2} of {RATE} requests/s after {:?}",
        rate().unwrap(),
        begun_at.elapsed()
    );
    is_over.store(true, Ordering::Relaxed);
    for job in &jobs {
        let job = service.finished(job).await;
        assert_eq!(
            (&job["status"], &job["attempt"]),
            (&json!("completed"), &json!(1)),
            "{job:#}"
        );
    }
    assert!(!refused.load(Ordering::Relaxed), "there was a 429");
    let requests = service.model.requests("shared");
    let took = requests[requests.len() - 1].at - requests[0].at;
    let most = RATE * (took + Duration::from_secs(1)).as_secs_f64();
    assert!(
        (requests.len() as f64) <= most,
        "{} in {took:?}",
        requests.len()
    );
    assert_eq!(service.model.violations(), [""; 0]);
}
