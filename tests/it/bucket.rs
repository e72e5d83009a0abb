//! Assets in an S3 bucket behind a gate, which needs its own thread.

mod deletion;
mod large;
mod presigned;
mod verified;

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::log::{assert_whole, data};
use crate::support::problem::Problem;
use crate::support::{S3, Service, process, until};

/// The longest time until a process detects that it cannot use its bucket.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A size that needs a multipart upload.
const LARGE: usize = 12_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_whose_bucket_cannot_be_used_ends_and_says_why() {
    let Some(s3) = S3::start().await else { return };
    let Some(locked) = S3::start_locked().await else {
        return;
    };
    let service = Service::without_worker().await;
    let presigned = ("SKILLET_PRESIGNED_DOWNLOADS", "true");
    let folder = ("SKILLET_ASSETS", "missing-bucket");
    let cases = [
        (&s3, vec![], "NoSuchBucket"),
        (
            &s3,
            vec![("AWS_ALLOW_HTTP", "false")],
            "set AWS_ALLOW_HTTP=true",
        ),
        (&s3, vec![("AWS_ENDPOINT", "http://127.0.0.1:1")], "onnect"),
        (
            &s3,
            vec![presigned, folder],
            "set --assets (SKILLET_ASSETS)",
        ),
        (
            &locked,
            vec![],
            "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
        ),
    ];
    for (number, (s3, changes, told)) in cases.into_iter().enumerate() {
        let mut environment = s3.environment("missing-bucket");
        environment.push(("DATABASE_URL", service.database_url.clone()));
        let home = service.home.path().join(format!("home-{number}"));
        environment.push(("SKILLET_DATA_DIR", home.display().to_string()));
        let names_bucket = changes.is_empty() || changes[0].0 == "AWS_ENDPOINT";
        let changes = changes.into_iter();
        environment.extend(changes.map(|(name, value)| (name, value.to_owned())));
        let log = log_of_failed_start(environment, &home).await;
        assert!(log.contains(told), "{told} in {log}");
        if names_bucket {
            assert!(log.contains("s3://missing-bucket/"), "{log}");
        }
    }
}

/// Returns the log of an API that exits instead of listening.
async fn log_of_failed_start(environment: Vec<(&'static str, String)>, home: &Path) -> String {
    let environment: Vec<_> = environment
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let log = home.with_extension("log");
    let mut api = process::start(&["api", "--listen", "127.0.0.1:0"], &environment, &log);
    assert_eq!(api.first_line(), "", "it listens to no one");
    let status = api.end_within(TIMEOUT).await.unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(status.code(), Some(1), "{log}");
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_and_outputs_are_in_the_bucket_and_nothing_else_is() {
    let Some(s3) = S3::start().await else { return };
    let mut service = service(&s3).await;
    service.add_worker(&[]).await;
    let content = noise(LARGE);
    let asset = service.upload("a.bin", content.clone()).await;
    assert_downloads(&service, &asset, &content).await;
    let job = json!({
        "skill": "maker", "model": "script/bash", "inputs": [{"asset_id": asset["id"]}],
        "prompt": "```bash\nbase64 a.bin > b.txt; touch c.txt\n```\noutput: b.txt\noutput: c.txt",
    });
    let job = service.run(&job).await;
    let [output] = &job["outputs"].as_array().unwrap()[..] else {
        panic!("{job:#}\n{}", service.logs())
    };
    assert_eq!(
        output["asset"]["size"],
        service.download(&output["asset"]).await.len()
    );

    let path = format!("/v1/assets/{}", asset["id"].as_str().unwrap());
    let deleted = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    let blob = output["asset"]["sha256"].as_str().unwrap();
    let blob = format!("some/prefix/sha256/{}/{blob}", &blob[..2]);
    until(async || s3.objects().await == ["some/prefix/probe", &blob]).await;
    assert_eq!(s3.unfinished().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_connection_and_no_lock_waits_for_the_bucket() {
    let Some(s3) = S3::start().await else { return };
    let service = service(&s3).await;
    s3.pause();
    let part = Part::bytes(&b"small"[..]).file_name("a.txt");
    let upload = service.request(Method::POST, "/v1/assets");
    let upload = upload.multipart(Form::new().part("file", part)).send();
    let upload = tokio::spawn(upload);
    until(async || count(&service, "select count(*) from asset where not visible").await == 1)
        .await;
    let held = "select count(*) from pg_locks
                join pg_stat_activity as session using (pid)
                where locktype = 'advisory' and session.datname = current_database()";
    let open = "select count(*) from pg_stat_activity
                where datname = current_database() and state like 'idle in transaction%'";
    assert_eq!(
        (count(&service, held).await, count(&service, open).await),
        (0, 0)
    );
    s3.open();
    let asset: Value = upload.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(service.download(&asset).await, b"small", "{asset}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_bucket_is_away_clients_are_told_to_come_back_and_jobs_do() {
    let Some(s3) = S3::start().await else { return };
    let mut service = service(&s3).await;
    service.add_worker(&[]).await;
    let make = json!({"command": "echo '<!doctype html><p>x' > page.html"});
    let close = s3.closer();
    service
        .model
        .script_with("away", move |request| match request.turn() {
            0 => Reply::text("I make.").then_call("shell.exec", make.clone()),
            1 => {
                close();
                Reply::text("I give.").then_call("set_output", json!({"path": "page.html"}))
            }
            _ => Reply::text("Done."),
        });
    let job =
        json!({"skill": "maker", "model": "anthropic/m", "max_attempts": 1, "prompt": "Go. #away"});
    let job = service.create(&job).await;
    until(async || data(&service.events(&job).await, "tool.started").len() == 2).await;
    let part = Part::bytes(&b"small"[..]).file_name("a.txt");
    let upload = service.request(Method::POST, "/v1/assets");
    let upload = upload.multipart(Form::new().part("file", part));
    let away = Problem::of(upload).await;
    assert_eq!(away.kind(), (503, "unavailable"));
    assert!(away.headers.contains_key("retry-after"));
    let ready = service.anonymous(Method::GET, "/readyz").send().await;
    assert_eq!(ready.unwrap().status(), 503);
    let events = service.until_event(&job, "job.retrying").await;
    assert_eq!(data(&events, "job.retrying")[0]["cause"], "storage_outage");
    s3.open();

    let ended = service.finished(&job).await;
    assert_eq!(
        ended["outputs"].as_array().unwrap().len(),
        1,
        "{ended:#}\n{}",
        service.logs()
    );
    let events = service.events(&job).await;
    assert_whole(&events);
    let completed = data(&events, "tool.completed");
    let outcomes: Vec<_> = completed
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["ok", "ok"]);
    assert!(!service.logs().contains(" ERROR "), "{}", service.logs());
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_upload_that_was_never_finished_is_removed_from_the_bucket() {
    let Some(s3) = S3::start().await else { return };
    // The S3 server reports that each upload was started in 2010.
    s3.request(Method::POST, "/bucket/some/prefix/incoming/left?uploads")
        .await;
    s3.request(Method::POST, "/bucket/other/incoming/left?uploads")
        .await;
    assert_eq!(s3.unfinished().await, 2);
    let mut service = service(&s3).await;
    service.add_worker(&[]).await;
    until(async || s3.unfinished().await == 1).await;
}

async fn service(s3: &S3) -> Service {
    service_with(s3, &[]).await
}

async fn service_with(s3: &S3, more: &[(&'static str, &str)]) -> Service {
    service_at(s3.environment("bucket"), more).await
}

/// Starts a service with the asset store of `environment` and additional variables.
async fn service_at(
    mut environment: Vec<(&'static str, String)>,
    more: &[(&'static str, &str)],
) -> Service {
    let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
    environment.push(("SKILLET_SKILLS_DIR", skills.to_owned()));
    let environment = environment.iter();
    let environment = environment.map(|(name, value)| (*name, value.as_str()));
    let environment: Vec<_> = environment.chain(more.iter().copied()).collect();
    Service::with_environment(&environment).await
}

async fn count(service: &Service, query: &'static str) -> i64 {
    let count = sqlx::query_scalar(query);
    count.fetch_one(&service.pool).await.unwrap()
}

/// Downloads a large file completely and in part.
async fn assert_downloads(service: &Service, asset: &Value, content: &[u8]) {
    assert_eq!(service.download(asset).await, content);
    let range = service.request(Method::GET, asset["content_url"].as_str().unwrap());
    let range = range.header("range", "bytes=7000000-7000999");
    let range = range.send().await.unwrap();
    assert_eq!(range.status(), 206);
    assert_eq!(range.bytes().await.unwrap(), content[7_000_000..7_001_000]);
}

/// Returns bytes in which no four-byte word repeats.
fn noise(size: usize) -> Vec<u8> {
    let numbers = (0..).flat_map(u32::to_be_bytes);
    numbers.take(size).collect()
}
