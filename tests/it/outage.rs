//! Outages of the database.

use serde_json::json;
use shared::db::Pool;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::support::log::{assert_whole, data};
use crate::support::{Service, bash, until};

#[tokio::test]
async fn an_attempt_that_the_database_failed_does_not_count() {
    let mut service = Service::without_worker().await;
    let prompt = bash("echo '<!doctype html><title>t</title><p>t' > page.html");
    let body = json!({
        "skill": "html", "model": "script/bash", "max_attempts": 1,
        "prompt": format!("{prompt}\noutput html: page.html"),
    });
    let job = service.create(&body).await;
    // A new asset waits for the row of its tenant.
    let mut lock = service.pool.begin().await.unwrap();
    sqlx::query("select from tenant for update")
        .execute(&mut *lock)
        .await
        .unwrap();
    service.add_worker(&[]).await;
    // Cut the connection that is about to store the output.
    let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
               where datname = current_database() and wait_event_type = 'Lock' and query ilike '%insert into asset%'";
    until(async || {
        let cut = sqlx::query_scalar::<_, i64>(cut);
        cut.fetch_one(&service.pool).await.unwrap() > 0
    })
    .await;
    lock.rollback().await.unwrap();
    let ended = service.finished(&job).await;
    assert_eq!(
        ended["status"],
        "completed",
        "{ended:#}\n{}",
        service.logs()
    );
    let events = service.events(&job).await;
    assert_whole(&events);
    let [retried] = data(&events, "job.retrying")[..] else {
        panic!("{events:#?}")
    };
    assert_eq!(retried["cause"], "database_outage");
}

#[tokio::test]
async fn a_worker_survives_that_the_database_is_away_for_longer_than_it_may_be_silent() {
    let mut service = Service::without_worker().await;
    service.add_worker(&[("SKILLET_WORKER_SILENCE", "1")]).await;
    let prompt = [bash("echo one"), bash("sleep 2"), bash("echo three")].join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    service.until_event(&job, "tool.completed").await;
    admit(&service, false).await;
    cut_all(&service.pool).await;
    until(async || {
        service
            .logs()
            .contains("cannot record that this worker has ended")
    })
    .await;
    admit(&service, true).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        ended["status"],
        "completed",
        "{ended:#}\n{}",
        service.logs()
    );
    assert!(service.workers[0].ended().is_none(), "{}", service.logs());
    assert_whole(&service.events(&job).await);
}

/// Allows or forbids connections to the service's database. The server requires a connection to another database for
/// this.
pub(crate) async fn admit(service: &Service, admitted: bool) {
    let name: String = sqlx::query_scalar("select current_database()::text")
        .fetch_one(&service.pool)
        .await
        .unwrap();
    let other = service.database_url.replacen(&name, "postgres", 1);
    let mut other = PgConnection::connect(&other).await.unwrap();
    let admit = format!("alter database {name} allow_connections {admitted}");
    let admit = sqlx::query(AssertSqlSafe(admit));
    admit.execute(&mut other).await.unwrap();
}

/// Ends all connections to the service's database except those of the test.
pub(crate) async fn cut_all(pool: &Pool) {
    let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
               where datname = current_database() and application_name <> 'test'";
    let cut: i64 = sqlx::query_scalar(cut).fetch_one(pool).await.unwrap();
    assert!(cut > 0, "someone is connected");
}
