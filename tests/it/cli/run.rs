//! `skillet run`.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::at;
use crate::support::{CommandOutput, Service, bash, until};

#[tokio::test]
async fn run_shows_what_happens_and_prints_the_text() {
    let service = Service::start().await;
    let terminal = at(&service);
    let ran = terminal
        .run(&[
            "run",
            "shell",
            &bash("echo hello; echo there"),
            "-m",
            "script/bash",
        ])
        .await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "hello\nthere\n"),
        "{ran:?}"
    );
    let lines: Vec<_> = ran.err.lines().collect();
    let [queued, started, completed, summary] = lines[..] else {
        panic!("four lines: {lines:?}")
    };
    let (id, status) = queued.split_once(' ').unwrap();
    assert!(id.starts_with("job_") && status == "queued", "{queued}");
    assert!(
        summary.starts_with(&format!("✓ {id} completed (")),
        "{summary}"
    );
    assert_eq!(started, "⚡ shell.exec: echo hello; echo there");
    assert!(
        completed.starts_with("  ✓ ") && completed.ends_with(" s, 2 lines"),
        "{completed}"
    );

    let ran = terminal
        .run(&[
            "run",
            "shell",
            &bash("echo no; exit 3"),
            "-m",
            "script/bash",
            "--json",
        ])
        .await;
    assert_eq!(
        ran.code,
        Some(0),
        "the job completed, whatever its command did: {ran:?}"
    );
    assert!(
        ran.err.contains("  ✗ ") && ran.err.contains("exit code 3, 1 line"),
        "{ran:?}"
    );
    let job: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(job, service.finished(job["id"].as_str().unwrap()).await);
}

#[tokio::test]
async fn run_takes_files_and_saves_what_was_made_without_overwriting() {
    let service = Service::with_maker().await;
    let terminal = at(&service);
    std::fs::write(terminal.folder.path().join("in.csv"), "a,b\n").unwrap();
    let prompt = bash("mkdir x y; cp in.csv x/out.csv; wc -c < in.csv > y/out.csv")
        + "\noutput document: x/out.csv\noutput document: y/out.csv";
    let arguments = [
        "run",
        "maker",
        &prompt,
        "-m",
        "script/bash",
        "-i",
        "in.csv",
        "-o",
        "made/here",
    ];
    let ran = terminal.run(&arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err
            .contains("saved made/here/out.csv\nsaved made/here/out-2.csv\n"),
        "{ran:?}"
    );
    assert_eq!(terminal.read("made/here/out.csv"), "a,b\n");
    assert_eq!(terminal.read("made/here/out-2.csv"), "4\n");

    std::fs::write(terminal.folder.path().join("made/here/out.csv"), "mine").unwrap();
    let again = terminal.run(&arguments).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    let saved = "saved made/here/out-3.csv\nsaved made/here/out-4.csv\n";
    assert!(again.err.ends_with(saved), "{again:?}");
    assert_eq!(terminal.read("made/here/out.csv"), "mine");
    assert_eq!(terminal.read("made/here/out-3.csv"), "a,b\n");
    let forced = terminal.run(&[&arguments[..], &["--force"]].concat()).await;
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert_eq!(terminal.read("made/here/out.csv"), "a,b\n");
    assert_eq!(terminal.read("made/here/out-5.csv"), "4\n");

    let missing = terminal
        .run(&["run", "maker", "x", "-m", "script/bash", "-i", "no.csv"])
        .await;
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("cannot read no.csv"), "{missing:?}");
}

#[tokio::test]
async fn the_exit_code_says_whether_the_job_failed_or_the_command_was_wrong() {
    let service = Service::start().await;
    let terminal = at(&service);
    let slow = bash("sleep 30");
    let failed = terminal
        .run(&["run", "shell", &slow, "-m", "script/bash", "--timeout", "1"])
        .await;
    assert_eq!(failed.code, Some(3), "{failed:?}");
    assert!(
        failed.err.contains(" failed: the job took longer than 1 s"),
        "{failed:?}"
    );
    // Each command is one model reply, and the end is another one.
    let two = bash("true") + "\n" + &bash("true");
    let run = ["run", "shell", &two, "-m", "script/bash"];
    let limited = terminal
        .run(&[&run[..], &["--max-iterations", "1", "--max-tokens", "500"]].concat())
        .await;
    assert_eq!(limited.code, Some(3), "{limited:?}");
    let (_, jobs) = service.get("/v1/jobs?limit=1").await;
    let id = jobs["data"][0]["id"].as_str().unwrap();
    let (_, asked) = service.get(&format!("/v1/jobs/{id}/request")).await;
    let limits = &asked["limits"];
    assert_eq!(
        (&limits["max_iterations"], &limits["max_tokens"]),
        (&json!(1), &json!(500)),
        "{asked:#}"
    );
    let unknown = terminal
        .run(&["run", "juggling", "x", "-m", "script/bash"])
        .await;
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.contains("/skill: "), "{unknown:?}");
    let id = "job_019aa0c45e8d70008000000000000000";
    for command in ["get", "watch", "cancel"] {
        let absent = terminal.run(&[command, id]).await;
        assert_eq!(
            (absent.code, absent.out.as_str()),
            (Some(1), ""),
            "{command}: {absent:?}"
        );
        assert!(absent.err.starts_with("error: "), "{command}: {absent:?}");
    }
    for wrong in [
        &["run", "shell"][..],
        &["run", "shell", "x", "--modell", "y"],
        &["run", "shell", "x", "-m", "no-slash"],
        &["run", "shell", "x", "-p", "no-equals-sign"],
        &["get", "not-an-id"],
        &["list", "--limit", "0"],
        &["juggle"],
    ] {
        let usage = terminal.run(wrong).await;
        assert_eq!(usage.code, Some(2), "{wrong:?}: {usage:?}");
        assert!(usage.err.starts_with("error: "), "{wrong:?}: {usage:?}");
    }
}

#[tokio::test]
async fn an_interrupt_cancels_the_job() {
    let service = Service::start().await;
    let terminal = at(&service);
    let running = terminal.spawn(&[
        "run",
        "shell",
        &bash("echo begun; sleep 60"),
        "-m",
        "script/bash",
    ]);
    let mut id = None;
    until(async || {
        let (_, page) = service.get("/v1/jobs?status=running").await;
        id = page["data"][0]["id"].as_str().map(str::to_owned);
        id.is_some()
    })
    .await;
    let id = id.unwrap();
    service.until_event(&id, "tool.output").await;
    let pid = Pid::from_raw(running.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ran = CommandOutput::of(running).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{ran:?}");
    assert_eq!(service.finished(&id).await["status"], "cancelled");
}
