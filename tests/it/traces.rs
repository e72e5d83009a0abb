//! Traces sent to a collector.

mod collector;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, scripted};
use collector::{Collector, Received};

const CLAUDE: &str = "anthropic/claude-test";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
/// Longer than a worker may need for its shutdown, and shorter than its wait for a collector that does not respond.
const QUICK: Duration = Duration::from_secs(20);

/// Creates a job within a trace of the client.
async fn create(service: &Service, body: &Value, traceparent: &str) -> String {
    let request = service.request(Method::POST, "/v1/jobs").json(body);
    let response = request
        .header("traceparent", traceparent)
        .send()
        .await
        .unwrap();
    let job: Value = response.json().await.unwrap();
    job["id"].as_str().unwrap().to_owned()
}

fn text<'a>(span: &'a Received, name: &str) -> &'a str {
    span.attributes[name].as_str().unwrap()
}

#[tokio::test]
async fn one_trace_goes_from_the_clients_request_to_the_last_call_and_tells_no_content() {
    let collector = Collector::start();
    let mut service = Service::with_environment(&collector.environment()).await;
    service.add_worker(&[]).await;
    let call =
        Reply::text("reply-words").then_call("shell.exec", json!({"command": "echo output-words"}));
    let strange = Reply::call("made-up-words", json!({}));
    service.model.script(
        "traced",
        [
            call,
            Reply::status(529).saying("provider-words"),
            strange,
            Reply::text("done").usage(70, 3),
        ],
    );
    let body = json!({"skill": "shell", "model": CLAUDE, "prompt": "prompt-words #traced", "metadata": {"a": "metadata-words"}});
    let unsampled = format!("00-{}-{CALLER}-00", TRACE.replace('4', "5"));
    let unseen = json!({"skill": "shell", "model": "script/bash", "prompt": "no command"});
    let unseen = create(&service, &unseen, &unsampled).await;
    service.finished(&unseen).await;
    let job = create(&service, &body, &format!("00-{TRACE}-{CALLER}-01")).await;
    assert_eq!(service.finished(&job).await["status"], "completed");

    let spans = collector
        .until(|spans| spans.iter().any(|it| it.name.starts_with("invoke_agent")))
        .await;
    let one = |name: &str| {
        let mut named = spans
            .iter()
            .filter(|it| it.name == name && it.trace == TRACE);
        let first = named
            .next()
            .unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
        assert!(named.next().is_none(), "{name} is there twice");
        first
    };
    let request = one("POST /v1/jobs");
    assert_eq!((request.kind, &*request.parent), (SpanKind::Server, CALLER));
    assert_eq!(request.attributes["http.response.status_code"], 202);
    assert_eq!(text(request, "http.route"), "/v1/jobs");
    let attempt = one("invoke_agent shell");
    assert_eq!(
        (attempt.kind, &attempt.parent),
        (SpanKind::Consumer, &request.id)
    );
    assert_eq!(
        (
            text(attempt, "skillet.job.id"),
            &attempt.attributes["skillet.attempt"]
        ),
        (&*job, &json!(1))
    );
    assert_eq!(text(attempt, "skillet.attempt.end"), "end_turn");
    let tool = one("execute_tool shell.exec");
    assert_eq!((tool.kind, &tool.parent), (SpanKind::Internal, &attempt.id));
    assert!(!tool.failed && one("execute_tool unknown").failed);
    let chats: Vec<_> = spans
        .iter()
        .filter(|it| it.name == "chat claude-test")
        .collect();
    assert_eq!(chats.len(), 3, "{spans:#?}");
    assert!(
        chats
            .iter()
            .all(|it| it.kind == SpanKind::Client && it.parent == attempt.id && !it.failed)
    );
    let events: Vec<_> = chats.iter().flat_map(|it| &it.events).collect();
    assert_eq!(events, ["try failed"]);
    let last = chats.iter().max_by_key(|it| it.began_at).unwrap();
    assert_eq!(text(last, "gen_ai.operation.name"), "chat");
    assert_eq!(text(last, "gen_ai.provider.name"), "anthropic");
    assert_eq!(text(last, "gen_ai.request.model"), "claude-test");
    assert_eq!(text(last, "gen_ai.response.model"), "claude-test");
    assert_eq!(text(last, "server.address"), "127.0.0.1");
    assert_eq!(text(request, "server.address"), "127.0.0.1");
    assert_eq!(last.attributes["gen_ai.usage.input_tokens"], 70);
    assert_eq!(last.attributes["gen_ai.usage.output_tokens"], 3);
    assert_eq!(
        last.attributes["gen_ai.response.finish_reasons"],
        json!(["end_turn"])
    );
    assert!(spans.iter().all(|it| it.service == "skillet"));
    let is_of_one_process =
        |it: &Received| (it.instance == last.instance) == (it.process == last.process);
    assert!(spans.iter().all(is_of_one_process), "{spans:#?}");

    let all = format!("{spans:?}");
    for secret in [
        "-words",
        "sk-ant-test",
        &service.key,
        &TRACE.replace('4', "5"),
    ] {
        assert!(!all.contains(secret), "{secret} is in {spans:#?}");
    }
    assert!(service.logs().contains(TRACE), "log lines name the trace");
}

#[tokio::test]
async fn the_attempt_after_a_crash_belongs_to_the_same_trace() {
    let collector = Collector::start();
    let mut service = Service::with_environment(&collector.environment()).await;
    service.add_worker(&[]).await;
    let command = json!({"command": "true"});
    let asked_again = AtomicBool::new(false);
    service
        .model
        .script_with("again", move |request| match request.turn() {
            0 => Reply::call("shell.exec", command.clone()),
            _ if asked_again.swap(true, Ordering::Relaxed) => Reply::text("finished"),
            _ => Reply::stall(),
        });
    let job = create(
        &service,
        &scripted(CLAUDE, "again"),
        &format!("00-{TRACE}-{CALLER}-01"),
    )
    .await;
    service.model.stalled("again").await;
    // Spans that have ended by then are sent, although the worker is killed.
    collector
        .until(|spans| spans.iter().any(|it| it.name == "execute_tool shell.exec"))
        .await;
    service.add_worker(&[]).await;
    service.workers[0].kill();
    assert_eq!(service.finished(&job).await["text"], "finished");

    let spans = collector
        .until(|spans| spans.iter().any(|it| it.name == "invoke_agent shell"))
        .await;
    let (first, second): (Vec<_>, Vec<_>) = spans
        .iter()
        .partition(|it| it.process == service.workers[0].id());
    let request = spans.iter().find(|it| it.name == "POST /v1/jobs").unwrap();
    let attempt = second
        .iter()
        .find(|it| it.name == "invoke_agent shell")
        .unwrap();
    assert_eq!((&*attempt.trace, &attempt.parent), (TRACE, &request.id));
    assert_eq!(attempt.attributes["skillet.attempt"], 2);
    let names = |spans: &[&Received]| spans.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        names(&first),
        ["chat claude-test", "execute_tool shell.exec"]
    );
    assert!(
        first
            .iter()
            .all(|it| it.trace == TRACE && it.parent != attempt.id)
    );
    let chat = second
        .iter()
        .find(|it| it.name == "chat claude-test")
        .unwrap();
    assert_eq!((&*chat.trace, &chat.parent), (TRACE, &attempt.id));
}

#[tokio::test]
async fn a_collector_that_is_away_holds_nothing_up_and_is_complained_about_once() {
    let environment = [
        // Nothing listens on this port.
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
    ];
    let mut service = Service::with_environment(&environment).await;
    service.add_worker(&[]).await;
    for _ in 0..3 {
        let job = service.create_shell("true").await;
        assert_eq!(service.finished(&job).await["status"], "completed");
    }
    for process in [&mut service.workers[0], &mut service.api] {
        process.signal(Signal::TERM);
        assert!(
            process
                .end_within(QUICK)
                .await
                .expect("it leaves")
                .success()
        );
    }
    let complaints = service
        .logs()
        .matches("cannot send spans to the collector")
        .count();
    assert_eq!(complaints, 2, "{}", service.logs());
}

#[tokio::test]
async fn nothing_is_sent_unless_it_is_wanted() {
    let collector = Collector::start();
    let mut environment = collector.environment();
    environment.push(("OTEL_TRACES_EXPORTER", "none"));
    let mut service = Service::with_environment(&environment).await;
    service.add_worker(&[]).await;
    let job = create(
        &service,
        &scripted_shell(),
        &format!("00-{TRACE}-{CALLER}-01"),
    )
    .await;
    assert_eq!(service.finished(&job).await["status"], "completed");
    for process in [&mut service.workers[0], &mut service.api] {
        process.signal(Signal::TERM);
        assert!(
            process
                .end_within(QUICK)
                .await
                .expect("it leaves")
                .success()
        );
    }
    assert!(collector.received().is_empty());
    assert!(!service.dump().await.contains(TRACE), "not even kept");
}

fn scripted_shell() -> Value {
    json!({"skill": "shell", "model": "script/bash", "prompt": crate::support::bash("true")})
}
