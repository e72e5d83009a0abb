//! `skillet doctor --database`.

use std::process::Command;

use serde_json::Value;
use tests::pgbouncer::PgBouncer;
use tests::replication::ReplicatedPostgres;

use super::start;
use crate::support::{PROGRAM, Service, has_program, until};

/// Runs `skillet doctor`, and returns the exit status and the findings.
fn doctor(url: &str, variables: &[(&str, &str)]) -> (Option<i32>, Vec<Value>) {
    let output = Command::new(PROGRAM)
        .args(["doctor", "--json", "--database", url])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(printed["ok"], output.status.success());
    let findings = printed["findings"].as_array().unwrap().clone();
    (output.status.code(), findings)
}

/// Returns the status and the remedy of the finding with this text.
fn finding<'a>(findings: &'a [Value], what: &str) -> (&'a str, &'a str) {
    let found = findings
        .iter()
        .find(|it| it["what"].as_str().unwrap().contains(what));
    let found = found.unwrap_or_else(|| panic!("{what} in {findings:#?}"));
    let remedy = found["remedy"].as_str().unwrap_or_default();
    (found["status"].as_str().unwrap(), remedy)
}

#[tokio::test]
async fn settings_that_lose_data_fail_with_the_remedy() {
    let service = Service::without_worker().await;
    // The test server does not have to survive a power failure.
    let (code, findings) = doctor(&service.database_url, &[]);
    assert_eq!(code, Some(1));
    let (status, remedy) = finding(&findings, "fsync = off");
    assert_eq!(status, "bad");
    assert!(remedy.starts_with("Set fsync = on."), "{remedy}");
    assert_eq!(finding(&findings, "PostgreSQL ").0, "good");
    assert_eq!(finding(&findings, "no connection pooler").0, "good");
    assert_eq!(finding(&findings, "max_connections = 200").0, "good");
    assert_eq!(finding(&findings, "the clocks differ by 0.0").0, "good");
    assert_eq!(finding(&findings, "this user can create tables").0, "good");

    assert_eq!(finding(&findings, "the schema is up to date").0, "good");
    assert_eq!(finding(&findings, "notifications arrive").0, "good");

    for (setting, status) in [
        ("synchronous_commit = off", "bad"),
        ("default_transaction_read_only = on", "bad"),
        ("default_transaction_isolation = serializable", "bad"),
        ("idle_session_timeout = 1min", "warning"),
    ] {
        let url = with_setting(&service.database_url, setting);
        assert_eq!(finding(&doctor(&url, &[]).1, setting).0, status);
    }
}

fn with_setting(url: &str, setting: &str) -> String {
    let (name, value) = setting.split_once(" = ").unwrap();
    format!("{url}&options[{name}]={value}")
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_or_written_is_named() {
    let service = Service::without_worker().await;
    let output = Command::new(PROGRAM)
        .args([
            "doctor",
            "--database",
            "postgres://nobody@127.0.0.1:1/nothing",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("cannot reach the database"), "{stderr}");

    let role = format!("reader_{}", std::process::id());
    for statement in [
        format!("create role {role} login"),
        "revoke create on schema public from public".to_owned(),
    ] {
        let statement = sqlx::query(sqlx::AssertSqlSafe(statement));
        statement.execute(&service.pool).await.unwrap();
    }
    let url =
        service
            .database_url
            .replacen("postgres://postgres@", &format!("postgres://{role}@"), 1);
    let (_, findings) = doctor(&url, &[]);
    let drop = sqlx::query(sqlx::AssertSqlSafe(format!("drop role {role}")));
    drop.execute(&service.pool).await.unwrap();
    let (status, remedy) = finding(&findings, "this user cannot create tables");
    assert_eq!(status, "bad");
    assert!(remedy.contains("grant create on schema public"), "{remedy}");
}

#[tokio::test]
async fn standby_servers_are_recognized_and_missed() {
    let postgres = ReplicatedPostgres::start().await.unwrap();
    let primary_url = postgres.primary_url("postgres");
    let (_, findings) = doctor(&primary_url, &[]);
    let (status, remedy) = finding(
        &findings,
        "standby servers, and one host in the database URL",
    );
    assert_eq!(status, "warning");
    assert!(remedy.contains("postgres://user@one,two/name"), "{remedy}");
    let (_, findings) = doctor(&postgres.url("postgres"), &[]);
    assert_eq!(finding(&findings, "synchronous standby servers").0, "good");
    assert_eq!(finding(&findings, "notifications arrive").0, "good");

    postgres.lose_standby().unwrap();
    let is_missing = |it: &Value| {
        it["what"]
            .as_str()
            .unwrap()
            .contains("no standby server is connected")
    };
    until(async || doctor(&primary_url, &[]).1.iter().any(is_missing)).await;
    let (code, findings) = doctor(&primary_url, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(
        finding(&findings, "no standby server is connected").0,
        "bad"
    );
}

#[tokio::test]
async fn a_pooler_is_recognized_with_its_mode() {
    if !has_program("pgbouncer") {
        return;
    }
    let service = Service::without_worker().await;
    let session = start(&service, "session");
    let (_, findings) = doctor(&session.url, &[]);
    assert_eq!(
        finding(&findings, "connection pooler in session mode").0,
        "good"
    );

    let transaction = start(&service, "transaction");
    let pooling = PgBouncer::pooling().unwrap();
    let (code, findings) = doctor(&transaction.url, &[]);
    let (status, remedy) = finding(&findings, "connection pooler in transaction mode");
    assert_eq!((code, status), (Some(1), "bad"));
    let wanted = format!("Set SKILLET_DATABASE_POOLING={pooling}, ");
    assert!(remedy.starts_with(&wanted), "{remedy}");

    let set = [("SKILLET_DATABASE_POOLING", pooling)];
    let (_, findings) = doctor(&transaction.url, &set);
    assert_eq!(
        finding(&findings, "connection pooler in transaction mode").0,
        "good"
    );
}
