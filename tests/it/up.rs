//! The whole service in one process, with its own database.

mod private;
mod start;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::model_server::{ModelServer, Reply};

use crate::support::log::{assert_whole, data};
use crate::support::{CommandOutput, Process, Terminal, bash, process, until};

/// The longest time that a process may take to end.
const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn up_says_where_it_is_and_run_finds_it_until_it_stops() {
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    let (mut up, url) = start(&home, &[]);
    let file = home.join("service.json");
    let place: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        (&place["url"], &place["pid"]),
        (&json!(url), &json!(up.id()))
    );
    for private in [&file, &home.join("api_key")] {
        let mode = private.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", private.display());
    }

    let home_text = home.to_str().unwrap();
    let hello = bash("echo hello");
    let run = [
        "run",
        "shell",
        &hello,
        "-m",
        "script/bash",
        "--data-dir",
        home_text,
    ];
    let ran = terminal.run(&run).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "hello\n"),
        "{ran:?}"
    );
    let listed = terminal
        .run(&["list", "--json", "--data-dir", home_text])
        .await;
    assert_eq!(
        listed.objects().len(),
        1,
        "it ran there, not in a service of its own"
    );

    let second = terminal
        .run(&["up", "--data-dir", home_text, "--listen", "127.0.0.1:0"])
        .await;
    assert_eq!((second.code, second.out.as_str()), (Some(1), ""));
    let expected = format!(
        "error: another skillet runs in {home_text}; stop it, or name another --data-dir\n"
    );
    assert_eq!(second.err, expected);
    assert!(
        file.exists() && processes_of(&home) > 0,
        "the first is not disturbed"
    );

    up.signal(Signal::TERM);
    let status = up.end_within(TIMEOUT).await.expect("it stops");
    assert!(status.success(), "{status}");
    assert!(!file.exists());
    assert_eq!(processes_of(&home), 0);
}

#[tokio::test]
async fn after_a_kill_everything_is_there_and_running_jobs_go_on_at_once() {
    let model = ModelServer::start();
    let asked = AtomicUsize::new(0);
    model.script_with("killed", move |_| {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::stall(),
            _ => Reply::text("survived"),
        }
    });
    let variables = [
        ("ANTHROPIC_API_KEY", "sk-ant-test".to_owned()),
        ("ANTHROPIC_BASE_URL", model.base_url()),
    ];
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    let (mut up, url) = start(&home, &variables);
    let key = std::fs::read_to_string(home.join("api_key")).unwrap();
    let finished = call(
        &url,
        &key,
        "/v1/jobs?",
        Some(json!({"skill": "shell", "model": "script/bash", "prompt": bash("echo before")})),
    )
    .await;
    let finished = finished["id"].as_str().unwrap();
    let events = |id: &str| format!("/v1/jobs/{id}/events?limit=1000");
    until(async || {
        call(&url, &key, &format!("/v1/jobs/{finished}"), None).await["status"] == "completed"
    })
    .await;
    let log = call(&url, &key, &events(finished), None).await;
    let running =
        json!({"skill": "shell", "model": "anthropic/claude-test", "prompt": "Go on. #killed"});
    let running = call(&url, &key, "/v1/jobs", Some(running)).await;
    let running = running["id"].as_str().unwrap();
    model.stalled("killed").await;

    up.kill();
    assert!(
        home.join("service.json").exists() && processes_of(&home) > 0,
        "nobody tidied up"
    );
    let (mut up, url) = start(&home, &variables);
    let ready_at = Instant::now();
    assert_eq!(std::fs::read_to_string(home.join("api_key")).unwrap(), key);
    assert_eq!(call(&url, &key, &events(finished), None).await, log);
    until(async || {
        call(&url, &key, &format!("/v1/jobs/{running}"), None).await["status"] == "completed"
    })
    .await;
    // The job does not wait for the period of silence that a worker on another machine gets.
    assert!(
        ready_at.elapsed() < Duration::from_secs(3),
        "{:?}",
        ready_at.elapsed()
    );
    let page = call(&url, &key, &events(running), None).await;
    let log = page["data"].as_array().unwrap();
    assert_whole(log);
    assert_eq!(data(log, "job.completed")[0]["text"], "survived");
    let [retrying] = data(log, "job.retrying")[..] else {
        panic!("{log:#?}")
    };
    assert_eq!(retrying["cause"], "crash");

    up.signal(Signal::INT);
    assert!(up.end_within(TIMEOUT).await.expect("it stops").success());
    assert_eq!(processes_of(&home), 0);
    assert_eq!(model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_command_without_a_service_has_its_own_and_leaves_nothing_running() {
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    let home_text = home.to_str().unwrap();
    let hello = bash("echo hello");
    let run = [
        "run",
        "shell",
        &hello,
        "-m",
        "script/bash",
        "--data-dir",
        home_text,
    ];
    let ran = terminal.run(&run).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "hello\n"),
        "{ran:?}"
    );
    assert_gone(&home);

    // A failed command leaves nothing behind either.
    let absent = "job_019aa0c45e8d70008000000000000000";
    let failed = terminal
        .run(&["get", absent, "--data-dir", home_text])
        .await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_gone(&home);

    // The same applies to a command that is interrupted while its service starts or while it runs a job.
    let slow = bash("sleep 60");
    let run = [
        "run",
        "shell",
        &slow,
        "-m",
        "script/bash",
        "--data-dir",
        home_text,
    ];
    let starting = terminal.spawn(&run);
    until(async || processes_of(&home) > 1).await;
    tell(&starting, Signal::INT);
    let ran = CommandOutput::of(starting).await;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_gone(&home);
    let running = terminal.spawn(&run);
    until(async || home.join("service.json").exists()).await;
    tell(&running, Signal::TERM);
    let ran = CommandOutput::of(running).await;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_gone(&home);
}

/// Starts the service and returns its URL, which it prints.
fn start(home: &Path, variables: &[(&str, String)]) -> (Process, String) {
    let own = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
    let variables: Vec<_> = variables.iter().map(own).collect();
    let log = home.with_extension("log");
    let arguments = [
        "up",
        "--data-dir",
        home.to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
    ];
    let mut up = process::start(&arguments, &variables, &log);
    let line = up.first_line();
    let url = line
        .strip_prefix("Skillet is ready at ")
        .unwrap_or_else(|| {
            panic!("{line}\n{}", std::fs::read_to_string(&log).unwrap());
        });
    (up, url.to_owned())
}

/// Sends a POST request if there is a body, and otherwise a GET request.
async fn call(url: &str, key: &str, path: &str, body: Option<Value>) -> Value {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (http, url) = (reqwest::Client::new(), format!("{url}{path}"));
    let request = match body {
        Some(body) => http.post(url).json(&body),
        None => http.get(url),
    };
    request
        .bearer_auth(key)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap()
}

fn tell(child: &tokio::process::Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().unwrap().cast_signed());
    kill_process(pid.unwrap(), signal).unwrap();
}

#[track_caller]
fn assert_gone(home: &Path) {
    assert!(!home.join("service.json").exists());
    assert_eq!(processes_of(home), 0);
}

/// Returns the number of processes with this directory in their arguments: `skillet` processes and their database
/// servers.
fn processes_of(home: &Path) -> usize {
    let home: PathBuf = home.to_owned();
    let home = home.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(home))
        .count()
}
