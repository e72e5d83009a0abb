//! A connection to the database whose other end does not answer any more, without an error: all others work.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use shared::db::Pool;
use sqlx::AssertSqlSafe;

use crate::support::log::{assert_whole, data};
use crate::support::{Service, bash, until};

/// A process of the database server that is stopped. It goes on when dropped.
struct StoppedBackend(Pid);

impl StoppedBackend {
    /// Stops the one whose last statement has these words.
    async fn with_statement(pool: &Pool, words: &str) -> Self {
        let pid = "select pid from pg_stat_activity where datname = current_database() \
                   and application_name <> 'test' and query like '%";
        let pid: i32 = sqlx::query_scalar(AssertSqlSafe(format!("{pid}{words}%'")))
            .fetch_one(pool)
            .await
            .unwrap();
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

const APPEND: &str = "with entry as materialized";
const CLAIM: &str = "from claim($1";
const INSERT_JOB: &str = "insert into job (";

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
    // What it was sent before is too late.
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
    let _stopped = StoppedBackend::with_statement(&service.pool, INSERT_JOB).await;
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let is_ready = async || {
        let ready = service.anonymous(reqwest::Method::GET, "/readyz");
        ready.send().await.unwrap().status() == 200
    };
    let ((status, problem), ()) = tokio::join!(
        service.post("/v1/jobs", &body),
        until(async || !is_ready().await)
    );
    assert_eq!(
        (status.as_u16(), &problem["retryable"]),
        (503, &json!(true)),
        "{problem:#}"
    );
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
    assert_eq!(call["outcome"], "unknown");
    let ended = service.finished(&other).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(1)),
        "{ended:#}"
    );
    assert_whole(&service.events(&other).await);
}
