//! Messages during the start of a service.

use std::fs::File;
use std::net::TcpListener;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::tell;
use crate::sandbox::{can_attack, container};
use crate::support::{CommandOutput, Service, Terminal, until};

#[tokio::test]
async fn up_says_which_models_can_be_asked() {
    let terminal = Terminal::new(&[("OPENAI_API_KEY", "sk-openai-test")]);
    let home = terminal.folder.path().join("data");
    let home_text = home.to_str().unwrap();
    let up = terminal.spawn(&["up", "--data-dir", home_text, "--listen", "127.0.0.1:0"]);
    until(async || home.join("service.json").exists()).await;

    let model = "anthropic/claude-test";
    let run = ["run", "shell", "Go.", "-m", model, "--data-dir", home_text];
    let refused = terminal.run(&run).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let remedy = "start `skillet up`, or the workers, with the variable ANTHROPIC_API_KEY";
    assert!(refused.err.contains(remedy), "{refused:?}");

    tell(&up, rustix::process::Signal::TERM);
    let ran = CommandOutput::of(up).await;
    let models = "Models: anthropic ✗ (set ANTHROPIC_API_KEY), openai ✓, script ✓";
    assert!(ran.out.lines().any(|line| line == models), "{ran:?}");
    let expected = ["creating a PostgreSQL", "stopping; interrupt again"];
    let said = ran.err.lines();
    let unexpected = said.filter(|line| !expected.iter().any(|start| line.starts_with(start)));
    assert_eq!(Vec::from_iter(unexpected), [""; 0], "nothing else is said");
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_before_there_is_a_database() {
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let up = [
        "up",
        "--data-dir",
        home.to_str().unwrap(),
        "--listen",
        &address,
    ];
    let ran = terminal.run(&up).await;
    let expected =
        format!("error: cannot listen on {address}: Address already in use (os error 98)\n");
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), expected.as_str()));
    assert!(!home.join("postgres").exists());
}

#[tokio::test]
async fn a_start_that_fails_says_why_and_nothing_else() {
    if !can_attack() {
        return;
    }
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    let home_text = home.to_str().unwrap();
    let up = ["up", "--data-dir", home_text, "--listen", "127.0.0.1:0"];
    // The missing sandbox is the last problem that the worker detects.
    let container = container();
    let wrapper = ["/usr/bin/python3", "-c", &container];
    let ran = CommandOutput::of(terminal.spawn_through(&wrapper, &up)).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let mut lines = ran.err.lines();
    let line = lines.find(|line| !line.starts_with("creating a PostgreSQL"));
    let line = line.unwrap_or_default();
    assert!(
        line.starts_with("error: commands cannot be confined on this machine"),
        "{ran:?}"
    );
    assert!(!ran.err.contains("WARN"), "{ran:?}");
}

#[tokio::test]
async fn a_command_waits_for_a_service_that_is_starting() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    std::fs::create_dir(&home).unwrap();
    // A service that is starting holds this lock.
    let lock = File::create(home.join("lock")).unwrap();
    lock.lock().unwrap();

    let home_text = home.to_str().unwrap();
    let mut listing = terminal.spawn(&["list", "--data-dir", home_text]);
    let mut said = BufReader::new(listing.stderr.take().unwrap()).lines();
    let expected = format!("the service in {home_text} is starting or stopping; waiting for it");
    assert_eq!(said.next_line().await.unwrap(), Some(expected));
    let place = json!({"url": service.url, "api_key": service.key, "pid": std::process::id()});
    let unfinished = home.join("service.new");
    std::fs::write(&unfinished, place.to_string()).unwrap();
    std::fs::rename(unfinished, home.join("service.json")).unwrap();

    let listed = CommandOutput::of(listing).await;
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.out.starts_with(&job), "{listed:?}");
}
