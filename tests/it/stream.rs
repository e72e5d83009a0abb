//! Streams of events: the same bytes for every reader.

mod cut;
mod live_output;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, Stream, bash, parse, scripted, until};

const CLAUDE: &str = "anthropic/claude-test";

#[tokio::test]
async fn a_log_is_the_same_from_every_cut_while_it_grows_and_after() {
    let mut service = Service::without_worker().await;
    let job = create_varied(&service).await;
    // Two followers that start before there is a worker.
    let mut early = [service.follow(&job, 0).await, service.follow(&job, 0).await];
    service.add_worker(&[]).await;
    service.model.stalled("varied").await;
    service.until_event(&job, "tool.completed").await;
    let so_far = service.events(&job).await.len() as i64;
    let mut later = Vec::new();
    for cut in 0..=so_far {
        later.push(service.follow(&job, cut).await);
    }
    service.model.release("varied");

    service.finished(&job).await;
    let whole = service.follow(&job, 0).await.rest_raw().await;
    assert!(whole.len() as i64 > so_far, "it went on: {whole:#?}");
    for stream in &mut early {
        assert_eq!(stream.rest_raw().await, whole);
    }
    for (cut, mut stream) in later.into_iter().enumerate() {
        assert_eq!(stream.rest_raw().await, whole[cut..], "live after {cut}");
    }
    for cut in 0..whole.len() {
        let mut stream = service.follow(&job, cut as i64).await;
        assert_eq!(
            stream.rest_raw().await,
            whole[cut..],
            "replayed after {cut}"
        );
    }
    let parsed: Vec<_> = whole.iter().map(|raw| parse(raw)).collect();
    assert_eq!(parsed, service.events(&job).await);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn another_api_and_one_that_was_restarted_replay_the_same_bytes() {
    let mut service = Service::start().await;
    let job = create_varied(&service).await;
    service.model.stalled("varied").await;
    let (_second, second_url) = service.start_second_api(&[]);
    let (first_url, path) = (service.url.clone(), format!("/v1/jobs/{job}/stream"));
    service.url = second_url.clone();
    let mut elsewhere = Stream::open(service.request(Method::GET, &path)).await;
    service.url = first_url.clone();
    let mut here = service.follow(&job, 0).await;
    service.model.release("varied");
    let whole = here.rest_raw().await;
    assert_eq!(elsewhere.rest_raw().await, whole, "live");

    service.api.kill();
    service.restart_api();
    for url in [first_url, second_url] {
        service.url = url;
        for cut in 0..whole.len() {
            let mut stream = service.follow(&job, cut as i64).await;
            assert_eq!(
                stream.rest_raw().await,
                whole[cut..],
                "{} after {cut}",
                service.url
            );
        }
    }
}

#[tokio::test]
async fn a_client_says_from_where_and_what() {
    let service = Service::start().await;
    let job = service.create_shell("echo hello").await;
    service.finished(&job).await;
    let whole = service.follow(&job, 0).await.rest_raw().await;
    let last = whole.len();
    let open = async |query: &str, id: Option<&str>| {
        let request = service.request(Method::GET, &format!("/v1/jobs/{job}/stream{query}"));
        let headers = id.map(|id| ("Last-Event-ID", id));
        Stream::open(
            headers
                .into_iter()
                .fold(request, |request, (name, id)| request.header(name, id)),
        )
        .await
    };

    assert_eq!(open("?after=3", None).await.rest_raw().await, whole[3..]);
    assert_eq!(
        open("?after=3", Some("1")).await.rest_raw().await,
        whole[1..],
        "the header wins"
    );
    assert_eq!(
        open("?after=3", Some("")).await.rest_raw().await,
        whole[3..],
        "no id yet"
    );
    let without_deltas = open("?deltas=false", None).await.rest_raw().await;
    let is_delta = |raw: &&String| {
        !matches!(
            parse(raw)["type"].as_str().unwrap(),
            "tool.output" | "message.delta"
        )
    };
    let expected: Vec<_> = whole.iter().filter(is_delta).cloned().collect();
    assert!(expected.len() < last, "there are deltas in {whole:#?}");
    assert_eq!(without_deltas, expected);

    for after in [last, last + 1, last + 1000] {
        let ended = open(&format!("?after={after}"), None).await.response;
        assert_eq!(ended.status(), 204, "after {after}");
        let ended = open("", Some(&after.to_string())).await.response;
        assert_eq!(ended.status(), 204, "after {after}");
    }
    for (query, id) in [
        ("", Some("x")),
        ("", Some("1.5")),
        ("?after=x", None),
        ("?deltas=2", None),
        ("?since=1", None),
    ] {
        assert_eq!(
            open(query, id).await.response.status(),
            400,
            "{query} {id:?}"
        );
    }
}

#[tokio::test]
async fn an_id_that_the_log_has_not_reached_is_refused_and_harms_nobody() {
    let service = Service::start().await;
    service.model.script("slow", [Reply::stall()]);
    let job = service.create(&scripted(CLAUDE, "slow")).await;
    service.model.stalled("slow").await;
    let ahead = service.follow(&job, 1000).await;
    assert_eq!(ahead.response.status(), 400);
    let mut stream = service.follow(&job, 0).await;
    service.model.release("slow");
    let last = stream.rest_raw().await.pop().unwrap();
    assert_eq!(parse(&last)["type"], "job.completed");
}

#[tokio::test]
async fn a_stream_says_that_it_must_not_be_kept() {
    let service = Service::start().await;
    let job = service.create_shell("true").await;
    let stream = service.follow(&job, 0).await;
    let headers: &HeaderMap = stream.response.headers();
    assert_eq!(stream.response.status(), 200);
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["x-accel-buffering"], "no");
}

#[tokio::test]
async fn a_hundred_followers_of_twenty_jobs_get_the_same_bytes() {
    let mut service = Service::without_worker().await;
    let mut jobs = Vec::new();
    for number in 0..20 {
        let command = format!("for i in 1 2 3 4 5; do echo {number}-$i; sleep 0.05; done");
        let job = service.create_shell(&command).await;
        let mut streams = Vec::new();
        for _ in 0..5 {
            streams.push(service.follow(&job, 0).await);
        }
        jobs.push((job, streams));
    }
    service.add_worker(&[]).await;
    for (job, streams) in &mut jobs {
        service.finished(job).await;
        let whole = service.follow(job, 0).await.rest_raw().await;
        assert!(whole.len() > 6, "{whole:#?}");
        for stream in streams {
            assert_eq!(stream.rest_raw().await, whole);
        }
    }
}

#[tokio::test]
async fn a_follower_that_reads_late_gets_everything() {
    let service = Service::start().await;
    // About 4 MB in total, which is more than the buffers between the job and a client that does not read can hold.
    let commands = (0..20).map(|number| bash(&format!("seq {number} 18000")));
    let prompt = commands.collect::<Vec<_>>().join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt, "limits": {"max_iterations": 30}});
    let job = service.create(&job).await;
    let mut late = service.follow(&job, 0).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["usage"]["tool_calls"]),
        (&json!("completed"), &json!(20))
    );
    let whole = service.follow(&job, 0).await.rest_raw().await;
    let bytes: usize = whole.iter().map(String::len).sum();
    assert!(bytes > 3_000_000, "{bytes} bytes");
    assert!(late.rest_raw().await == whole, "they differ");
}

#[tokio::test]
async fn a_lost_listening_connection_loses_no_event() {
    let service = Service::start().await;
    let commands = (0..15).map(|number| bash(&format!("sleep 0.1; echo {number}")));
    let prompt = commands.collect::<Vec<_>>().join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt, "limits": {"max_iterations": 30}});
    let job = service.create(&job).await;
    let mut stream = service.follow(&job, 0).await;
    let mut live = Vec::new();
    let mut lost = 0;
    while let Some(raw) = stream.next_raw().await {
        if parse(&raw)["type"] == "tool.completed" && lost < 5 {
            until(async || terminate_listener(&service).await).await;
            lost += 1;
        }
        live.push(raw);
    }
    assert_eq!(lost, 5, "{live:#?}");
    assert_eq!(live, service.follow(&job, 0).await.rest_raw().await);
}

/// Ends the connection on which the API listens. Returns `false` if there is no such connection.
async fn terminate_listener(service: &Service) -> bool {
    let ended: Option<bool> = sqlx::query_scalar(
        "select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'skillet api' and query like 'LISTEN%'",
    )
    .fetch_optional(&service.pool)
    .await
    .unwrap();
    ended.unwrap_or(false)
}

/// Creates a job with events of most types that stalls in the middle of its second reply.
async fn create_varied(service: &Service) -> String {
    let first = Reply::thinking("What is there?\n\nI should look – 世界 \u{2028} \"quoted\".")
        .then_text("I look.")
        .then_call(
            "shell.exec",
            json!({"command": "printf 'a\\r\\nb\\n\\nc: d\\n'; echo err >&2; sleep 0.05; echo ü"}),
        )
        .then_call("nothing", json!({}));
    service.model.script("varied", [first, Reply::stall()]);
    let body: Value = scripted(CLAUDE, "varied");
    service.create(&body).await
}
