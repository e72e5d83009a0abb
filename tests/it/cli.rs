//! The program as someone at a terminal uses it, with a service that runs elsewhere.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Ran, Service, Terminal, bash};

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
    let [started, completed] = lines[..] else {
        panic!("two lines: {lines:?}")
    };
    assert_eq!(started, "⚡ execute_bash: echo hello; echo there");
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
    let refused = terminal.run(&arguments).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .err
            .contains("made/here/out.csv is there already; use --force"),
        "{refused:?}"
    );
    assert_eq!(terminal.read("made/here/out.csv"), "mine");
    let forced = terminal.run(&[&arguments[..], &["--force"]].concat()).await;
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert_eq!(terminal.read("made/here/out.csv"), "a,b\n");

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
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed
            .err
            .contains("the job did not complete: the job took longer than 1 s"),
        "{failed:?}"
    );
    let unknown = terminal
        .run(&["run", "juggling", "x", "-m", "script/bash"])
        .await;
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.contains("/skill: "), "{unknown:?}");
    let id = "019aa0c4-5e8d-7000-8000-000000000000";
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
    crate::support::until(async || {
        let (_, page) = service.get("/v1/jobs?status=running").await;
        id = page["data"][0]["id"].as_str().map(str::to_owned);
        id.is_some()
    })
    .await;
    let id = id.unwrap();
    service.until_event(&id, "tool.output").await;
    let pid = Pid::from_raw(running.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ran = Ran::of(running).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{ran:?}");
    assert_eq!(service.finished(&id).await["status"], "cancelled");
}

#[tokio::test]
async fn jobs_are_shown_listed_watched_and_cancelled() {
    let service = Service::without_worker().await;
    let terminal = at(&service);
    let first = service.create_shell("echo first").await;
    let second = service.create_shell("echo second").await;

    let cancelled = terminal.run(&["cancel", &first, "--json"]).await;
    let job: Value = serde_json::from_str(&cancelled.out).unwrap();
    assert_eq!(
        (cancelled.code, &job["status"]),
        (Some(0), &json!("cancelled"))
    );
    assert_eq!(job, service.finished(&first).await);

    let shown = terminal.run(&["get", &first]).await;
    assert_eq!(
        (shown.code, shown.out),
        (Some(0), format!("{first}  cancelled\n"))
    );
    let listed = terminal.run(&["list", "--json"]).await;
    assert_eq!(
        serde_json::from_str::<Value>(&listed.out).unwrap(),
        service.get("/v1/jobs").await.1["data"]
    );
    let listed = terminal.run(&["list", "--status", "queued"]).await;
    assert!(
        listed.out.starts_with(&second) && listed.out.lines().count() == 1,
        "{listed:?}"
    );

    let mut service = service;
    let watching = terminal.spawn(&["watch", &second, "--json"]);
    service.add_worker(&[]).await;
    let watched = Ran::of(watching).await;
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let events: Vec<Value> = watched
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events, service.events(&second).await);
    let watched = terminal.run(&["watch", &second]).await;
    assert_eq!(watched.out, format!("{second}  completed\nsecond\n"));
    assert!(
        watched.err.contains("⚡ execute_bash: echo second"),
        "{watched:?}"
    );
    assert_eq!(
        terminal.run(&["watch", &first]).await.code,
        Some(1),
        "it did not complete"
    );
}

#[tokio::test]
async fn skills_are_listed_and_keys_are_made_and_revoked() {
    let service = Service::start().await;
    let terminal = at(&service);
    let skills = terminal.run(&["skills"]).await;
    assert!(
        skills.out.lines().any(|line| line.starts_with("✓ shell ")),
        "{skills:?}"
    );

    let made = terminal
        .run(&[
            "keys", "create", "--tenant", "other", "--name", "theirs", "--json",
        ])
        .await;
    let key: Value = serde_json::from_str(&made.out).unwrap();
    let secret = key["secret"].as_str().unwrap();
    let theirs = Terminal::new(&[("SKILLET_URL", &service.url), ("SKILLET_API_KEY", secret)]);
    service.create_shell("true").await;
    let listed = theirs.run(&["list", "--json"]).await;
    assert_eq!(
        (listed.code, listed.out.trim()),
        (Some(0), "[]"),
        "another tenant's"
    );
    let forbidden = theirs.run(&["keys", "list"]).await;
    assert_eq!(forbidden.code, Some(1), "{forbidden:?}");

    let id = key["id"].as_str().unwrap();
    let keys = terminal.run(&["keys", "list"]).await;
    assert!(
        keys.out
            .lines()
            .any(|line| line.starts_with(id) && line.ends_with("jobs  theirs")),
        "{keys:?}"
    );
    assert!(!keys.out.contains(secret));
    let revoked = terminal.run(&["keys", "revoke", id]).await;
    assert_eq!((revoked.code, revoked.out.as_str()), (Some(0), "revoked\n"));
    let refused = theirs.run(&["list"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");

    // The first key of a service, for which there is none to ask with.
    let database = [("DATABASE_URL", service.database_url.as_str())];
    let first = Terminal::new(&database)
        .run(&["keys", "create", "--scopes", "jobs,admin"])
        .await;
    let theirs = Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", first.out.trim()),
    ]);
    assert_eq!(theirs.run(&["keys", "list"]).await.code, Some(0));
}

#[tokio::test]
async fn the_file_sets_what_no_flag_or_variable_does() {
    let service = Service::start().await;
    let job = service.create_shell("true").await;
    let terminal = Terminal::new(&[("SKILLET_API_KEY", &service.key)]);
    let file = terminal.folder.path().join("skillet.toml");
    let list = async || terminal.run(&["list"]).await;
    std::fs::write(&file, format!("url = \"{}\"\n", service.url)).unwrap();
    let listed = list().await;
    assert!(listed.out.starts_with(&job), "{listed:?}");
    let unreachable = terminal.run(&["list", "--url", "http://127.0.0.1:1"]).await;
    assert_eq!(unreachable.code, Some(1));
    assert!(
        unreachable
            .err
            .starts_with("error: cannot reach http://127.0.0.1:1"),
        "{unreachable:?}"
    );

    std::fs::write(&file, "urll = \"x\"\n").unwrap();
    let wrong = list().await;
    assert_eq!(
        (wrong.code, wrong.err.as_str()),
        (
            Some(2),
            "error: in skillet.toml: there is no setting `urll`\n"
        )
    );
    let absent = terminal.run(&["--config", "other.toml", "list"]).await;
    assert_eq!(absent.code, Some(2));
    assert!(absent.err.contains("cannot read other.toml"), "{absent:?}");
}

#[tokio::test]
async fn what_is_missing_to_reach_a_service_is_said() {
    let without_key = Terminal::new(&[("SKILLET_URL", "http://127.0.0.1:1")]);
    let ran = without_key.run(&["list"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("SKILLET_API_KEY"), "{ran:?}");
    let service = Service::without_worker().await;
    let wrong_key = Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", "sk_wrong"),
    ]);
    let ran = wrong_key.run(&["list"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.starts_with("error: ") && !ran.err.contains("sk_wrong"),
        "{ran:?}"
    );
}

/// A terminal that knows where the service is.
fn at(service: &Service) -> Terminal {
    Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
    ])
}
