//! A service whose processes share database sessions through a pooler in transaction mode.

use reqwest::Method;
use serde_json::{Value, json};
use shared::db;
use tests::model_server::Reply;
use tests::pgbouncer::PgBouncer;

use crate::support::log::{assert_whole, data};
use crate::support::{Service, follow_through, has_program, until};

const CLAUDE: &str = "anthropic/claude-test";
/// Connections of the pooler to the server. The processes open more connections to the pooler.
const CONNECTIONS: u32 = 5;

/// Starts an API and two workers that use the database through the pooler. Notifications use a direct connection or
/// none.
async fn pooled(listens: bool) -> (PgBouncer, Service) {
    let mut service = Service::without_worker().await;
    let pooler = PgBouncer::start(&service.database_url, "transaction", CONNECTIONS).unwrap();
    let pooling = PgBouncer::pooling().unwrap();
    for (name, value) in [
        ("DATABASE_URL", &*pooler.url),
        ("SKILLET_DATABASE_POOLING", pooling),
        ("SKILLET_WORKER_SILENCE", "2"),
    ] {
        service.set_variable(name, value);
    }
    if listens {
        let direct = service.database_url.clone();
        service.set_variable("SKILLET_DATABASE_DIRECT_URL", &direct);
    }
    service.api.kill();
    service.restart_api();
    for _ in 0..2 {
        service.add_worker(&[]).await;
    }
    (pooler, service)
}

#[tokio::test]
async fn jobs_streams_cancellations_and_approvals_work() {
    if !has_program("pgbouncer") {
        return;
    }
    let (_pooler, mut service) = pooled(true).await;
    assert!(sessions(&service, "query like 'LISTEN%'").await > 0);
    assert_all_works(&mut service).await;
}

#[tokio::test]
async fn without_notifications_all_works_too() {
    if !has_program("pgbouncer") {
        return;
    }
    let (_pooler, mut service) = pooled(false).await;
    assert_eq!(sessions(&service, "query like 'LISTEN%'").await, 0);
    assert_all_works(&mut service).await;
}

async fn assert_all_works(service: &mut Service) {
    // Many concurrent jobs, so that each session serves several processes.
    let mut jobs = Vec::new();
    for number in 0..12 {
        jobs.push(service.create_shell(&format!("echo {number}")).await);
    }
    let request = service.request(Method::GET, &format!("/v1/jobs/{}/stream", jobs[11]));
    let followed = tokio::spawn(follow_through(request));
    for job in &jobs {
        let ended = service.finished(job).await;
        assert_eq!(
            ended["status"],
            "completed",
            "{ended:#}\n{}",
            service.logs()
        );
        assert_whole(&service.events(job).await);
    }
    let log = service.follow(&jobs[11], 0).await.rest_raw().await;
    assert_eq!(followed.await.unwrap(), log);

    let endless = service.create_shell("sleep 600").await;
    service.until_event(&endless, "tool.started").await;
    let path = format!("/v1/jobs/{endless}/cancel");
    assert!(service.post(&path, &Value::Null).await.0.is_success());
    assert_eq!(service.finished(&endless).await["status"], "cancelled");

    service
        .model
        .script_with("ask", |request| match request.turn() {
            0 => Reply::text("May I?").then_call("shell.exec", json!({"command": "echo yes"})),
            _ => Reply::text("done"),
        });
    let body = json!({
        "agent": "default", "model": CLAUDE, "prompt": "Do it. #ask", "hooks": {"confirm": ["shell.*"]},
    });
    let asking = service.create(&body).await;
    service.approve(&asking).await;
    assert_eq!(service.finished(&asking).await["text"], "done");

    let prompt = "```bash\necho one\n```\n```bash\nsleep 3; echo two\n```";
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    until(async || data(&service.events(&job).await, "tool.started").len() == 2).await;
    let started = service.events(&job).await;
    let id = data(&started, "job.started")[0]["worker"].clone();
    let known = db::worker::list(&service.pool).await.unwrap();
    let worker = known.iter().find(|worker| id == json!(worker.id));
    let name = &worker.expect("a worker runs the job").name;
    let mut processes = service.workers.iter_mut();
    let process = processes.find(|process| name.ends_with(&format!(":{}", process.id())));
    process.expect("it is one of ours").kill();
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(2)),
        "{ended:#}"
    );
    assert_whole(&service.events(&job).await);
    assert!(sessions(service, "query not like 'LISTEN%'").await <= i64::from(CONNECTIONS));
    let logs = service.logs();
    assert!(
        !logs.contains(" ERROR ") && !logs.contains("prepared statement"),
        "{logs}"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

/// Returns the number of the service's database sessions that match the condition.
async fn sessions(service: &Service, condition: &str) -> i64 {
    let count = format!(
        "select count(*) from pg_stat_activity
         where datname = current_database() and application_name <> 'test' and {condition}"
    );
    let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count));
    count.fetch_one(&service.pool).await.unwrap()
}
