//! Errors of model providers: overload, broken streams, refusals and silence.

use std::time::Duration;

use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use crate::support::log::{assert_whole, data, text, types};
use crate::support::{Service, scripted};

const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];
const CLAUDE: &str = BOTH[0];

#[tokio::test]
async fn what_passes_is_waited_for_and_nothing_is_shown_twice() {
    let service = Service::start().await;
    let words = "It took a while, and then it was done.";
    let troubles = [
        ("limited", Reply::status(429).retry_after(1)),
        ("overloaded", Reply::status(529)),
        ("failing", Reply::status(500)),
        (
            "gateway",
            Reply::status(502).with_body("<html><h1>Bad gateway</h1></html>"),
        ),
        ("soon", Reply::status(503).header("retry-after-ms", 30)),
        ("cut", Reply::text(words).cut_after(7)),
        ("short", Reply::text(words).end_after(7)),
        ("midway", Reply::text(words).error_after(7)),
        ("garbled", Reply::text(words).garbage_after(7)),
        ("garbage", Reply::text(words).garbage_after(0)),
    ];
    let mut jobs = Vec::new();
    for (number, model) in BOTH.into_iter().enumerate() {
        for (name, trouble) in &troubles {
            let marker = format!("{name}-{number}");
            service
                .model
                .script(&marker, [trouble.clone(), Reply::text(words)]);
            jobs.push((service.create(&scripted(model, &marker)).await, marker));
        }
    }
    for (job, marker) in jobs {
        let ended = service.finished(&job).await;
        assert_eq!(
            (&ended["status"], &ended["text"]),
            (&json!("completed"), &json!(words)),
            "{marker}: {ended:#}"
        );
        assert_eq!(
            (&ended["attempt"], &ended["usage"]["iterations"]),
            (&json!(1), &json!(1)),
            "{marker}"
        );
        let events = service.events(&job).await;
        assert_eq!(text(&events, "message.delta"), words, "{marker}");
        assert_eq!(data(&events, "message.completed").len(), 1, "{marker}");
        let requests = service.model.requests(&marker);
        assert_eq!(requests.len(), 2, "{marker}");
        if marker.starts_with("limited") {
            let waited = requests[1].at - requests[0].at;
            assert!(waited >= Duration::from_secs(1), "{marker}: {waited:?}");
        }
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_refusal_fails_the_job_with_the_words_of_the_provider_and_no_key() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        for status in [400, 401, 404] {
            let marker = format!("refused-{status}-{number}");
            service.model.script(&marker, [Reply::status(status)]);
            let job = service.run(&scripted(model, &marker)).await;
            assert_eq!(
                (&job["status"], &job["error"]["code"]),
                (&json!("failed"), &json!("model_refused"))
            );
            assert_eq!(job["error"]["retryable"], false);
            let message = job["error"]["message"].as_str().unwrap();
            assert!(message.contains(&status.to_string()), "{message}");
            assert!(
                message.contains("This error is in the script."),
                "{message}"
            );
            assert_eq!(service.model.requests(&marker).len(), 1, "not asked again");
            let events = service.events(job["id"].as_str().unwrap()).await;
            assert_whole(&events);
            let everything = format!("{events:?}{}", service.logs());
            for key in ["sk-ant-test", "sk-openai-test"] {
                assert!(!everything.contains(key), "{key} in {everything}");
            }
        }
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_stream_that_stalls_is_dropped_and_asked_for_again() {
    let mut service = Service::without_worker().await;
    let providers = [
        ("anthropic", service.model.base_url()),
        ("openai", service.model.openai_base_url()),
    ];
    let tables = providers.map(|(kind, url)| {
        let variable = format!("{}_API_KEY", kind.to_uppercase());
        format!(
            "[providers.{kind}]\nkind = \"{kind}\"\nbase_url = \"{url}\"\n\
             key_variable = \"{variable}\"\nstall_seconds = 1\n"
        )
    });
    let config = service.home.path().join("impatient.toml");
    std::fs::write(&config, tables.concat()).unwrap();
    let config = config.display().to_string();
    service.add_worker(&[("SKILLET_CONFIG", &config)]).await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("stalls-{number}");
        let words = "I am thinking about this for a while.";
        let whole = Reply::text(format!("{words} Now I know."));
        service.model.script(&marker, [Reply::stall(), whole]);
        let job = service.run(&scripted(model, &marker)).await;
        assert_eq!(job["text"], format!("{words} Now I know."), "{job:#}");
        assert_eq!(
            (&job["attempt"], &job["status"]),
            (&json!(1), &json!("completed"))
        );
        let events = service.events(job["id"].as_str().unwrap()).await;
        assert_eq!(
            text(&events, "message.delta"),
            job["text"].as_str().unwrap()
        );
        assert_eq!(service.model.hang_ups(&marker).len(), 1, "{marker}");
        let requests = service.model.requests(&marker);
        assert!(requests[1].at - requests[0].at >= Duration::from_secs(1));
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn the_time_of_a_job_includes_what_the_model_takes_and_outputs_stay() {
    let service = Service::with_maker().await;
    let first = Reply::text("First a file.")
        .then_call("shell.exec", json!({"command": "echo kept > kept.txt"}))
        .then_call("set_output", json!({"path": "kept.txt"}));
    service.model.script("slow", [first, Reply::stall()]);
    let mut body = scripted(CLAUDE, "slow");
    body["skill"] = "maker".into();
    body["limits"] = json!({"timeout_seconds": 2});
    let job = service.create(&body).await;
    service.model.hung_up("slow").await;
    let job = service.finished(&job).await;
    assert_eq!(
        (&job["status"], &job["error"]["code"]),
        (&json!("failed"), &json!("timeout"))
    );
    assert_eq!(job["error"]["message"], "the job took longer than 2 s");
    assert_eq!(job["text"], "First a file.");
    assert_eq!(
        service.download(&job["outputs"][0]["asset"]).await,
        b"kept\n"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_provider_that_sends_only_what_cannot_be_read_counts_as_away() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("garbage-{number}");
        let garbage = |_: &Request| Reply::empty().garbage_after(0);
        service.model.script_with(&marker, garbage);
        let job = service.create(&scripted(model, &marker)).await;
        let events = service.until_event(&job, "job.retrying").await;
        let retrying = data(&events, "job.retrying")[0];
        assert_eq!(retrying["cause"], "model_outage", "{marker}");
        let message = retrying["message"].as_str().unwrap();
        assert!(message.contains("invalid response"), "{message}");
        assert_eq!(service.model.requests(&marker).len(), 5, "{marker}");
    }
}

#[tokio::test]
async fn a_provider_that_stays_away_costs_an_outage_and_no_crash_or_failure() {
    let service = Service::start().await;
    service.model.script_with("away", |_| Reply::status(503));
    let job = service.create(&scripted(CLAUDE, "away")).await;
    // Five attempts take about six seconds.
    let events = service.until_event(&job, "job.retrying").await;
    assert_eq!(data(&events, "job.retrying")[0]["cause"], "model_outage");
    assert_eq!(types(&events).last(), Some(&"job.retrying"));
    assert_eq!(service.model.requests("away").len(), 5);
    let counts: (i16, i16, i16) =
        sqlx::query_as("select crashes, failures, model_outages from run")
            .fetch_one(&service.pool)
            .await
            .unwrap();
    assert_eq!(counts, (0, 0, 1));
    let shown: Value = service.get(&format!("/v1/jobs/{job}")).await.1;
    assert_eq!(
        (&shown["status"], &shown["queue"]["reason"]),
        (&json!("queued"), &json!("scheduled"))
    );
    assert_eq!(
        shown["queue"]["run_at"],
        data(&events, "job.retrying")[0]["run_at"]
    );
    assert_eq!(service.model.violations(), [""; 0]);
}
