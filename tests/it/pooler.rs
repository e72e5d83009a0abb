//! A connection pooler between the service and its database.

mod doctor;
mod transaction;

use std::process::{Command, Output};

use tests::pgbouncer::PgBouncer;

use crate::support::{PROGRAM, Process, Service, has_program, process};

/// Starts PgBouncer with this pool mode in front of the database of a service.
fn start(service: &Service, mode: &str) -> PgBouncer {
    PgBouncer::start(&service.database_url, mode, 40).unwrap()
}

/// Runs the program to its end, with the pooler as its database.
fn run(pooler: &PgBouncer, service: &Service, arguments: &[&str]) -> Output {
    let home = service.home.path().join("pooled");
    Command::new(PROGRAM)
        .args(arguments)
        .env("DATABASE_URL", &pooler.url)
        .env("SKILLET_DATA_DIR", home)
        .output()
        .unwrap()
}

#[tokio::test]
async fn transaction_mode_is_refused_with_the_remedy() {
    if !has_program("pgbouncer") {
        return;
    }
    let service = Service::without_worker().await;
    let pooler = start(&service, "transaction");
    for arguments in [
        &["migrate"][..],
        &["keys", "create"],
        &["api", "--listen", "127.0.0.1:0"],
        &["worker"],
        &["up", "--listen", "127.0.0.1:0"],
    ] {
        let output = run(&pooler, &service, arguments);
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            [
                "transaction mode",
                "pool_mode = session",
                "SKILLET_DATABASE_POOLING"
            ]
            .iter()
            .all(|text| stderr.contains(text)),
            "{arguments:?}: {stderr}"
        );
        assert_eq!(stdout, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn in_session_mode_jobs_run() {
    if !has_program("pgbouncer") {
        return;
    }
    let mut service = Service::without_worker().await;
    let pooler = start(&service, "session");
    let migrated = run(&pooler, &service, &["migrate"]);
    assert!(migrated.status.success(), "{migrated:?}");
    service.add_worker(&[("DATABASE_URL", &pooler.url)]).await;
    let ended = service
        .finished(&service.create_shell("echo hello").await)
        .await;
    assert_eq!(ended["status"], "completed", "{}", service.logs());
}

#[tokio::test]
async fn a_parameter_that_the_pooler_refuses_is_named_with_the_remedy() {
    if !has_program("pgbouncer") {
        return;
    }
    let service = Service::without_worker().await;
    let mut pooler = start(&service, "session");
    pooler.url += "?options[jit]=off";
    let output = run(&pooler, &service, &["migrate"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    // PgBouncer 1.20 and later parses the options.
    let names = ["options", "jit"].map(|name| format!("`ignore_startup_parameters = {name}`"));
    assert!(names.iter().any(|name| stderr.contains(name)), "{stderr}");
}

#[tokio::test]
async fn an_api_says_that_it_listens_when_it_has_reached_the_database() {
    let service = Service::without_worker().await;
    let environment = [
        (
            "DATABASE_URL",
            "postgres://nobody@127.0.0.1:1/nothing".to_owned(),
        ),
        (
            "SKILLET_DATA_DIR",
            service.home.path().join("alone").display().to_string(),
        ),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value));
    let log = service.home.path().join("alone.log");
    let mut api: Process = process::start(&["api", "--listen", "127.0.0.1:0"], &environment, &log);
    assert_eq!(api.first_line(), "", "it says nothing");
    assert!(!api.wait());
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.contains("cannot reach the database"), "{said}");
}
