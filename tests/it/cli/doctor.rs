//! `skillet doctor`.

use serde_json::{Value, json};

use crate::sandbox::{can_attack, container};
use crate::support::{CommandOutput, Service, Terminal, has_program};

#[tokio::test]
async fn doctor_asks_the_service_that_runs() {
    let service = Service::start().await;
    // The worker of the service has the API key, not this environment.
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    std::fs::create_dir(&home).unwrap();
    let place = json!({"url": service.url, "api_key": service.key, "pid": std::process::id()});
    std::fs::write(home.join("service.json"), place.to_string()).unwrap();
    let doctor = ["doctor", "--data-dir", home.to_str().unwrap()];

    let ran = terminal.run(&doctor).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let heading = format!("The service at {} has:\n", service.url);
    assert!(ran.out.starts_with(&heading), "{ran:?}");
    for line in [
        "✓ PostgreSQL answers",
        "✓ models of anthropic",
        "✓ models of openai",
        "✓ models of script",
    ] {
        assert!(ran.out.lines().any(|it| it == line), "{line}: {ran:?}");
    }
    assert!(ran.out.contains("✓ skill shell"), "{ran:?}");
    let ran = terminal.run(&[&doctor[..], &["--json"]].concat()).await;
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(found["service"], json!(service.url));
    assert_eq!(
        found["providers"]["ready"],
        json!(["anthropic", "openai", "script"])
    );

    // Without a worker, no job can run.
    let service = Service::without_worker().await;
    let place = json!({"url": service.url, "api_key": service.key, "pid": std::process::id()});
    std::fs::write(home.join("service.json"), place.to_string()).unwrap();
    let ran = terminal.run(&doctor).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("✗ sandbox: there is no worker"), "{ran:?}");
}

#[tokio::test]
async fn doctor_fails_for_what_is_required_and_not_for_what_some_jobs_want() {
    let terminal = Terminal::new(&[]);
    let home = terminal.folder.path().join("data");
    let doctor = ["doctor", "--data-dir", home.to_str().unwrap()];
    let ran = terminal.run(&doctor).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let first = "No service runs here. This machine and this environment have:\n";
    assert!(ran.out.starts_with(first), "{ran:?}");
    let line = "– models of anthropic: ANTHROPIC_API_KEY is not set\n";
    assert!(ran.out.contains(line) && !ran.out.contains('✗'), "{ran:?}");
    assert!(!home.exists(), "it only looks");
    assert!(ran.out.contains(" fonts: "), "{ran:?}");
    if has_program("fc-list") {
        let ran = terminal.run(&[&doctor[..], &["--json"]].concat()).await;
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        assert!(found["scripts_without_font"].is_array(), "{found}");
    }

    if !can_attack() {
        return;
    }
    let container = container();
    let wrapper = ["/usr/bin/python3", "-c", &container];
    let ran = CommandOutput::of(terminal.spawn_through(&wrapper, &doctor)).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("✗ sandbox: "), "{ran:?}");
}
