//! The command line with a remote service.

mod agents;
mod approvals;
mod doctor;
mod jobs;
mod login;
mod nouns;
mod output;
mod run;
mod schedules;
mod setup;
mod trouble;
mod webhooks;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Service, Terminal};

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
    assert!(
        shown.out.starts_with(&format!("{first}  cancelled\n")),
        "{shown:?}"
    );
    let listed = terminal.run(&["list", "--json"]).await;
    assert_eq!(
        json!(listed.objects()),
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
    let watched = CommandOutput::of(watching).await;
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let events: Vec<Value> = watched
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events, service.events(&second).await);
    let watched = terminal.run(&["watch", &second]).await;
    assert!(
        watched.out.starts_with(&format!("{second}  completed\n")),
        "{watched:?}"
    );
    assert!(watched.out.ends_with("\nsecond\n"), "{watched:?}");
    assert!(
        watched.err.contains("⚡ shell.exec: echo second"),
        "{watched:?}"
    );
    assert_eq!(
        terminal.run(&["watch", &first]).await.code,
        Some(4),
        "it did not complete"
    );
}

#[tokio::test]
async fn skills_are_listed_and_keys_are_made_and_revoked() {
    let service = Service::start().await;
    let terminal = at(&service);
    let skills = terminal.run(&["skills"]).await;
    assert!(
        skills
            .out
            .lines()
            .any(|line| line.starts_with("shell\tavailable\tbuilt in\t")),
        "{skills:?}"
    );

    let made = terminal
        .run(&[
            "keys", "create", "--tenant", "other", "--name", "theirs", "--json",
        ])
        .await;
    let key: Value = serde_json::from_str(&made.out).unwrap();
    let secret = key["token"].as_str().unwrap();
    let theirs = Terminal::new(&[("SKILLET_URL", &service.url), ("SKILLET_API_KEY", secret)]);
    service.create_shell("true").await;
    let listed = theirs.run(&["list", "--json"]).await;
    assert_eq!(
        (listed.code, listed.out.as_str()),
        (Some(0), ""),
        "another tenant's"
    );
    let forbidden = theirs.run(&["keys", "list"]).await;
    assert_eq!(forbidden.code, Some(1), "{forbidden:?}");

    let id = key["id"].as_str().unwrap();
    let keys = terminal.run(&["keys", "list"]).await;
    assert!(
        keys.out
            .lines()
            .any(|line| line.starts_with(id) && line.ends_with("\tjobs\ttheirs")),
        "{keys:?}"
    );
    assert!(!keys.out.contains(secret));
    let revoked = terminal.run(&["keys", "revoke", id]).await;
    assert_eq!(
        (revoked.code, revoked.out),
        (Some(0), format!("revoked {id}\n"))
    );
    let refused = theirs.run(&["list"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");

    // The first API key of a service is created in the database, because no key exists yet.
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

/// Returns a terminal with the URL and an API key of the service.
pub(crate) fn at(service: &Service) -> Terminal {
    Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
    ])
}
