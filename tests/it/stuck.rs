//! A stuck database connection: no reply and no error, while all other connections work.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use shared::db::{self, Pool};
use sqlx::AssertSqlSafe;
use tokio::time::timeout;

use crate::support::log::{assert_whole, data};
use crate::support::{Service, bash, until};

/// A stopped process of the database server, which continues when this value is dropped.
struct StoppedBackend(Pid);

impl StoppedBackend {
    /// Stops the server process whose last statement contains these words.
    async fn with_statement(pool: &Pool, words: &str) -> Self {
        let pid = "select pid from pg_stat_activity where datname = current_database() \
                   and application_name <> 'test' and query like '%";
        let pid: i32 = sqlx::query_scalar(AssertSqlSafe(format!("{pid}{words}%'")))
            .fetch_one(pool)
            .await
            .unwrap();
        Self::with_id(pid)
    }

    /// Stops the server process of this connection.
    async fn of(connection: &mut db::Connection) -> Self {
        let pid = sqlx::query_scalar("select pg_backend_pid()");
        Self::with_id(pid.fetch_one(connection).await.unwrap())
    }

    fn with_id(pid: i32) -> Self {
        let pid = Pid::from_raw(pid).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for StoppedBackend {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// Texts near the beginning of statements, because the server shows only the beginning.
const APPEND: &str = "with append as materialized";
const CLAIM: &str = "(run).job_id as";
const INSERT_JOB: &str = "with new as materialized";

#[tokio::test]
async fn a_job_ends_although_the_writer_of_the_log_got_no_answer() {
    let service = Service::start().await;
    service.finished(&service.create_shell("true").await).await;
    let stopped = StoppedBackend::with_statement(&service.pool, APPEND).await;
    let job = service.create_shell("echo hello").await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(1)),
        "{ended:#}\n{}",
        service.logs()
    );
    let events = service.events(&job).await;
    assert_whole(&events);
    // The statements that the stopped process received before have no effect any more.
    drop(stopped);
    service.finished(&service.create_shell("true").await).await;
    assert_eq!(service.events(&job).await, events);
}

#[tokio::test]
async fn a_job_is_cancelled_although_the_writer_of_the_log_gets_no_answer() {
    let service = Service::start().await;
    let job = service.create_shell("echo begun; sleep 1000").await;
    service.until_event(&job, "tool.output").await;
    let _stopped = StoppedBackend::with_statement(&service.pool, APPEND).await;
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["status"], "cancelled", "{ended:#}");
    assert_whole(&service.events(&job).await);
}

#[tokio::test]
async fn jobs_are_claimed_although_a_claim_got_no_answer() {
    let service = Service::start().await;
    service.finished(&service.create_shell("true").await).await;
    let stopped = StoppedBackend::with_statement(&service.pool, CLAIM).await;
    let job = service.create_shell("true").await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(1)),
        "{ended:#}\n{}",
        service.logs()
    );
    drop(stopped);
    service.finished(&service.create_shell("true").await).await;
}

#[tokio::test]
async fn an_api_whose_job_writer_gets_no_answer_says_so_and_takes_jobs_again_later() {
    let service = Service::without_worker().await;
    service.create_shell("true").await;
    let stopped = StoppedBackend::with_statement(&service.pool, INSERT_JOB).await;
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let (status, problem) = service.post("/v1/jobs", &body).await;
    assert_eq!(
        (status.as_u16(), &problem["retryable"]),
        (503, &json!(true)),
        "{problem:#}"
    );
    drop(stopped);
    service.create(&body).await;
    let _stopped = StoppedBackend::with_statement(&service.pool, INSERT_JOB).await;
    let is_ready = async || {
        let ready = service.anonymous(reqwest::Method::GET, "/readyz");
        ready.send().await.unwrap().status() == 200
    };
    until(async || !is_ready().await).await;
    until(is_ready).await;
    service.create(&body).await;
}

#[tokio::test]
async fn an_entry_that_the_database_refuses_fails_its_own_job_and_no_other() {
    let service = Service::start().await;
    let refuse = "
        create function refuse() returns trigger language plpgsql as $$
            begin raise exception 'refused' using errcode = 'check_violation'; end
        $$;
        create trigger refuse before insert on job_event
            for each row when (new.data::text like '%poison%') execute function refuse();
        create trigger refuse before insert on job_delta
            for each row when (new.data::text like '%poison%') execute function refuse();";
    sqlx::raw_sql(refuse).execute(&service.pool).await.unwrap();
    let (begin, end) = ("echo begun; sleep 1", "sleep 1; echo done");
    let other = service
        .create_shell(&format!(
            "{begin}; for i in $(seq 100); do echo $i; sleep 0.05; done"
        ))
        .await;
    let refused = service
        .create_shell(&format!("{begin}; echo poi''son; {end}"))
        .await;
    let ended = service.finished(&refused).await;
    assert_eq!(
        (&ended["status"], &ended["error"]["code"], &ended["attempt"]),
        (&json!("failed"), &json!("internal"), &json!(1)),
        "{ended:#}\n{}",
        service.logs()
    );
    let events = service.events(&refused).await;
    assert_whole(&events);
    let [call] = data(&events, "tool.completed")[..] else {
        panic!("{events:#?}")
    };
    assert_eq!(call["outcome"], "cancelled");
    let ended = service.finished(&other).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(1)),
        "{ended:#}"
    );
    assert_whole(&service.events(&other).await);
}

#[tokio::test]
async fn connections_that_do_not_answer_are_replaced_in_their_pool() {
    let service = Service::without_worker().await;
    let pool = db::connect(&service.database_url, "test", 1).await.unwrap();
    let moment = Duration::from_millis(100);

    let mut connection = pool.acquire().await.unwrap();
    let _stopped = StoppedBackend::of(&mut connection).await;
    timeout(moment, db::ping(&mut connection))
        .await
        .unwrap_err();
    drop(connection);
    db::ping(&pool).await.unwrap();

    let mut transaction = pool.begin().await.unwrap();
    let _stopped = StoppedBackend::of(&mut transaction).await;
    timeout(moment, transaction.commit()).await.unwrap_err();
    db::ping(&pool).await.unwrap();
}

#[tokio::test]
async fn a_transaction_that_is_dropped_is_undone_and_lets_go_of_its_locks() {
    let service = Service::without_worker().await;
    let pool = db::connect(&service.database_url, "test", 1).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    let change = "update tenant set name = 'changed' where name = 'default'";
    let changed = sqlx::query(change)
        .execute(&mut *transaction)
        .await
        .unwrap();
    assert_eq!(changed.rows_affected(), 1);
    drop(transaction);
    // Use another pool, because nothing must use the first connection again.
    let changed = sqlx::query(change).execute(&service.pool).await.unwrap();
    assert_eq!(changed.rows_affected(), 1);
}
