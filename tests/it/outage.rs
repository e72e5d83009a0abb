//! The database goes away and comes back.

use serde_json::json;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use crate::support::log::{assert_whole, data};
use crate::support::{Service, bash, until};

#[tokio::test]
async fn an_attempt_that_the_database_failed_does_not_count() {
    let service = Service::start().await;
    let mut lock = service.pool.begin().await.unwrap();
    let prompt = bash("echo '<!doctype html><title>t</title><p>t' > page.html");
    let body = json!({
        "skill": "html", "model": "script/bash", "max_attempts": 1,
        "prompt": format!("{prompt}\noutput html: page.html"),
    });
    sqlx::query("lock table asset in share row exclusive mode")
        .execute(&mut *lock)
        .await
        .unwrap();
    let job = service.create(&body).await;
    // The output is about to be stored when the connection for it is cut.
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
    assert_eq!(ended["outputs"].as_array().unwrap().len(), 1);
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
    let mut beside = service.pool.acquire().await.unwrap();
    admit(&mut beside, false).await;
    cut_all(&service.pool).await;
    until(async || {
        service
            .logs()
            .contains("cannot say that this worker has ended")
    })
    .await;
    admit(&mut beside, true).await;
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

/// Lets connections to the database in, or not.
async fn admit(beside: &mut PgConnection, admitted: bool) {
    let admit = format!(
        "do $$ begin execute format('alter database %I allow_connections {admitted}', current_database()); end $$"
    );
    let admit = sqlx::query(AssertSqlSafe(admit));
    admit.execute(beside).await.unwrap();
}

async fn cut_all(pool: &PgPool) {
    let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
               where datname = current_database() and application_name <> 'test'";
    let cut: i64 = sqlx::query_scalar(cut).fetch_one(pool).await.unwrap();
    assert!(cut > 0, "someone is connected");
}
