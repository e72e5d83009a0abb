//! Schedule commands.

use serde_json::json;

use super::at;
use crate::support::{Service, bash};

#[tokio::test]
async fn a_schedule_is_created_changed_run_paused_and_deleted() {
    let service = Service::without_worker().await;
    let terminal = at(&service);
    let prompt = bash("true");
    let create = [
        "schedules",
        "create",
        "report",
        &prompt,
        "--skill",
        "shell",
        "-m",
        "script/bash",
        "--cron",
        "30 9 * * 1-5",
        "--time-zone",
        "Europe/Berlin",
        "--overlap",
        "queue",
    ];
    let created = terminal.run(&create).await;
    assert_eq!(created.code, Some(0), "{created:?}");
    let id = created.out.trim();
    let listed = terminal.run(&["schedules"]).await;
    assert!(
        listed.out.contains("30 9 * * 1-5 Europe/Berlin"),
        "{listed:?}"
    );
    let request = json!({"skill": "shell", "model": "script/bash", "prompt": "Something else."});
    std::fs::write(terminal.folder.path().join("job.json"), request.to_string()).unwrap();
    let update = [
        "schedules",
        "update",
        id,
        "--every",
        "600",
        "--job",
        "job.json",
        "--json",
    ];
    let updated = terminal.run(&update).await.objects();
    let shown = (
        &updated[0]["cron"],
        &updated[0]["interval_seconds"],
        &updated[0]["job"]["prompt"],
    );
    assert_eq!(
        shown,
        (&json!(null), &json!(600), &json!("Something else."))
    );
    let job = terminal.run(&["schedules", "run", id]).await;
    assert!(job.out.starts_with("job_"), "{job:?}");
    let runs = terminal.run(&["schedules", "runs", id]).await;
    assert!(
        runs.out.contains(job.out.trim()) && runs.out.contains("started"),
        "{runs:?}"
    );
    let paused = terminal.run(&["schedules", "pause", id]).await;
    assert_eq!(paused.out, format!("paused {id}\n"));
    let listed = terminal.run(&["schedules"]).await;
    assert!(
        listed.out.contains("paused\tevery 600 s\treport"),
        "{listed:?}"
    );
    let resumed = terminal.run(&["schedules", "resume", id, "--json"]).await;
    assert_eq!(resumed.objects(), [json!({"id": id, "resumed": true})]);
    let deleted = terminal.run(&["schedules", "delete", id]).await;
    assert_eq!(deleted.out, format!("deleted {id}\n"));
}

#[tokio::test]
async fn a_schedule_needs_a_time_and_a_change_says_what() {
    let service = Service::without_worker().await;
    let terminal = at(&service);
    let create = ["schedules", "create", "a", "Hello.", "--skill", "shell"];
    let refused = terminal.run(&create).await;
    assert!(
        refused.code == Some(1) && refused.err.contains("--cron PATTERN or --every SECONDS"),
        "{refused:?}"
    );
    let both = [&create[..], &["--cron", "@daily", "--every", "60"]].concat();
    assert_eq!(terminal.run(&both).await.code, Some(2));
    let wrong = [&create[..], &["-m", "script/bash", "--cron", "61 * * * *"]].concat();
    let refused = terminal.run(&wrong).await;
    assert!(
        refused.code == Some(1) && refused.err.contains("cron"),
        "{refused:?}"
    );
}
