//! Random conversations with a worker that is killed in the middle.
//!
//! The scripted server refuses requests that a provider would refuse, and requests that change the history.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::log::assert_whole;
use crate::support::{Service, scripted};

const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];

/// Jobs per provider.
const JOBS: u64 = 24;

/// Returns the reply to this request of a job: some blocks, with some end. An error never occurs in two successive
/// requests.
fn reply(seed: u64, number: u64) -> Reply {
    let random = &mut StdRng::seed_from_u64(seed << 32 | number);
    let may_fail = number.is_multiple_of(2);
    if may_fail && random.random_ratio(1, 6) {
        return Reply::status(529);
    }
    let mut reply = Reply::empty();
    if random.random_ratio(1, 3) {
        reply = reply.then_thinking("Hm. Größe? 🙂");
    }
    if random.random_ratio(1, 4) {
        reply = reply.then_redacted_thinking("eHg=");
    }
    let text = ["", " ", "I look.", "世界"][random.random_range(0..4)];
    if !text.is_empty() {
        reply = reply.then_text(text);
    }
    for call in 0..random.random_range(0..4) {
        let command = json!({"command": format!("echo {call}; sleep 0.0{call}")});
        reply = match random.random_range(0..6) {
            0 => reply.then_call("no_such_tool", json!({})),
            1 => reply.then_broken_call("shell.exec", r#"{"command": "ec"#),
            2 => reply.then_call("shell.exec", json!({})),
            _ => reply.then_call("shell.exec", command),
        };
    }
    match random.random_range(0..12) {
        0 => reply.out_of_tokens(),
        1 | 2 if may_fail => reply.cut_after(3),
        3 | 4 if may_fail => reply.error_after(4),
        5 => reply.with_comments(),
        _ => reply,
    }
}

async fn start(service: &Service) -> Vec<String> {
    let mut jobs = Vec::new();
    for (number, model) in BOTH.into_iter().enumerate() {
        for seed in 0..JOBS {
            let marker = format!("random-{number}-{seed}");
            // The script is a function, because a reply that was lost with the worker is requested again. The results
            // of the calls before it may be lost as well.
            let asked = AtomicU64::new(0);
            service.model.script_with(&marker, move |request| {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                match request.turn() {
                    0..4 => reply(seed, number),
                    _ => Reply::text("That is all."),
                }
            });
            jobs.push(service.create(&scripted(model, &marker)).await);
        }
    }
    jobs
}

#[tokio::test]
async fn no_conversation_becomes_one_that_a_provider_refuses() {
    let mut service = Service::start().await;
    let jobs = start(&service).await;
    service
        .until_event(&jobs[JOBS as usize], "tool.started")
        .await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let (status, _) = service
        .post(&format!("/v1/jobs/{}/cancel", jobs[1]), &json!({}))
        .await;
    assert!(status.is_success());
    let mut attempts = 0;
    for job in &jobs {
        let ended = service.finished(job).await;
        let is_cancelled = *job == jobs[1];
        assert!(
            ended["status"] == "completed" || is_cancelled,
            "{ended:#}\n{}",
            service.logs()
        );
        attempts += ended["attempt"].as_i64().unwrap_or_default();
        assert_whole(&service.events(job).await);
        let results = results(&service.events(job).await);
        assert!(results.iter().all(|count| *count <= 1), "one result a call");
    }
    assert!(attempts > 2 * JOBS as i64, "the worker was lost too late");
    assert_eq!(service.model.violations(), [""; 0]);
}

/// Returns the number of results of each call.
fn results(events: &[Value]) -> Vec<usize> {
    let of = |kind: &'static str| {
        let found = events.iter().filter(move |event| event["type"] == kind);
        found.map(|event| &event["data"]["call_id"])
    };
    of("tool.started")
        .map(|call| of("tool.completed").filter(|id| *id == call).count())
        .collect()
}
