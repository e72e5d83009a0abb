//! Order of jobs in a conversation: one at a time, in order of arrival.

use std::time::Duration;

use serde_json::{Value, json};
use shared::db;
use shared::id::TenantId;
use tests::model_server::Reply;

use super::{CLAUDE, begin, next, shown};
use crate::support::{Service, until};
use shared::id::{ConversationId, JobId};

/// Returns the start and end times of a job.
fn span(job: &Value) -> (String, String) {
    let text = |field: &str| job[field].as_str().unwrap().to_owned();
    (text("started_at"), text("finished_at"))
}

#[tokio::test]
async fn of_many_jobs_at_once_each_begins_when_the_one_before_it_has_ended() {
    let mut service = Service::start().await;
    service.add_worker(&[]).await;
    service.model.script_with("line", |request| {
        Reply::text(format!("reply {}", request.turn()))
    });
    let conversations = [
        begin(&service, "default").await,
        begin(&service, "default").await,
    ];
    let creating = (0..20).map(|number| {
        let (service, conversation) = (&service, &conversations[number % 2]);
        async move {
            service
                .create(&next(conversation, CLAUDE, &format!("{number} #line")))
                .await
        }
    });
    futures_util::future::join_all(creating).await;
    for conversation in &conversations {
        let path = format!("/v1/jobs?conversation_id={conversation}");
        until(async || {
            let (_, page) = service.get(&path).await;
            page["data"]
                .as_array()
                .unwrap()
                .iter()
                .all(|job| job["status"] == "completed")
        })
        .await;
        let order = sqlx::query_scalar::<_, JobId>(
            "select id from job where conversation_id = $1 order by position",
        );
        let order = order.bind(conversation.parse::<ConversationId>().unwrap());
        let order = order.fetch_all(&service.pool).await.unwrap();
        assert_eq!(order.len(), 10);
        let mut last_end = String::new();
        for (number, id) in order.iter().enumerate() {
            let (_, job) = service.get(&format!("/v1/jobs/{id}")).await;
            let (start, end) = span(&job);
            assert!(
                start >= last_end,
                "{number} began before the one before it had ended"
            );
            last_end = end;
            assert_eq!(job["text"], format!("reply {number}"), "{job:#}");
        }
    }
    let left = sqlx::query_scalar::<_, i64>("select count(*) from run").fetch_one(&service.pool);
    assert_eq!(left.await.unwrap(), 0);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_waiting_job_says_behind_which_and_a_cancelled_one_leaves_the_line() {
    let service = Service::start().await;
    service.model.script_with("queue", |request| {
        let said = request["messages"].to_string();
        if said.contains("last") {
            Reply::text("Done.")
        } else {
            Reply::stall()
        }
    });
    let conversation = begin(&service, "default").await;
    let mut jobs = Vec::new();
    for prompt in ["first", "second", "third", "last"] {
        jobs.push(
            service
                .create(&next(&conversation, CLAUDE, &format!("{prompt} #queue")))
                .await,
        );
    }
    service.until_status(&jobs[0], &["running"]).await;
    let place = async |job: &str| {
        let (_, job) = service.get(&format!("/v1/jobs/{job}")).await;
        assert_eq!(job["status"], "queued");
        job["queue"].clone()
    };
    let behind = |job: &str| json!({"reason": "earlier_job", "job_id": job});
    assert_eq!(place(&jobs[1]).await, behind(&jobs[0]));
    assert_eq!(place(&jobs[3]).await, behind(&jobs[2]));
    assert_eq!(service.get("/v1/queue").await.1["blocked"], 3);

    let cancel = async |job: &str| {
        service
            .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
            .await
            .1
    };
    assert_eq!(cancel(&jobs[2]).await["status"], "cancelled");
    assert_eq!(place(&jobs[3]).await, behind(&jobs[1]));
    assert_eq!(cancel(&jobs[1]).await["status"], "cancelled");
    assert_eq!(place(&jobs[3]).await, behind(&jobs[0]));
    service.model.stalled("queue").await;
    cancel(&jobs[0]).await;
    let ended = service.finished(&jobs[3]).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}");
    let shown = shown(service.model.requests("queue").last().unwrap());
    let [all] = &shown[..] else {
        panic!("{shown:#?}")
    };
    assert_eq!(
        all,
        "user: first #queue | second #queue | third #queue | last #queue"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_job_that_nobody_admitted_is_found() {
    let service = Service::start().await;
    let conversation = begin(&service, "default").await;
    let mut body = next(&conversation, "script/bash", "x");
    body["run_at"] = json!("2126-01-01T00:00:00Z");
    let first = service.create(&body).await;
    let second = service
        .create(&next(&conversation, "script/bash", "x"))
        .await;
    // Simulate a first job that ended in the moment when the second one arrived.
    let ended =
        sqlx::query("delete from run where job_id = $1").bind(first.parse::<JobId>().unwrap());
    ended.execute(&service.pool).await.unwrap();
    assert_eq!(service.finished(&second).await["status"], "completed");
}

#[tokio::test]
async fn a_job_that_crashes_its_workers_does_not_hold_up_the_line() {
    let mut service = Service::start().await;
    service
        .model
        .script_with("poison", |request| match request.turn() {
            0 => Reply::call("shell_exec", json!({"command": "sleep 60"})),
            _ => Reply::text("Fine."),
        });
    let conversation = begin(&service, "default").await;
    let first = service
        .create(&next(&conversation, CLAUDE, "Sleep. #poison"))
        .await;
    let second = service
        .create(&next(&conversation, CLAUDE, "And now?"))
        .await;
    service.until_event(&first, "tool.started").await;
    // Simulate two earlier workers that crashed with the job.
    let crashed = sqlx::query("update run set crashes = 2 where job_id = $1");
    crashed
        .bind(first.parse::<JobId>().unwrap())
        .execute(&service.pool)
        .await
        .unwrap();
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&first).await;
    assert_eq!(ended["error"]["code"], "worker_lost", "{ended:#}");
    let ended = service.finished(&second).await;
    assert_eq!(ended["text"], "Fine.", "{ended:#}\n{}", service.logs());
    let shown = shown(service.model.requests("poison").last().unwrap());
    assert!(shown[2].contains("may be there in part"), "{shown:#?}");
    assert_eq!(service.model.violations(), [""; 0]);
}

/// The next job is cancelled while the one before it ends, and neither transaction has committed.
#[tokio::test]
async fn a_job_behind_one_that_is_cancelled_as_the_one_before_it_ends_is_next() {
    let service = Service::without_worker().await;
    let conversation = begin(&service, "default").await;
    let mut jobs = Vec::new();
    for _ in 0..3 {
        let body = next(&conversation, "script/bash", "x");
        jobs.push(service.create(&body).await);
    }
    let tenant = sqlx::query_scalar("select tenant_id from run limit 1");
    let tenant = TenantId(tenant.fetch_one(&service.pool).await.unwrap());
    let mut cancelling = service.pool.begin().await.unwrap();
    let run = db::run::lock(&mut cancelling, tenant, jobs[1].parse().unwrap()).await;
    let run = run.unwrap().unwrap();
    db::cancel::cancel(&mut cancelling, &run).await.unwrap();

    let ending = async {
        let mut ending = service.pool.begin().await.unwrap();
        let run = db::run::lock(&mut ending, tenant, jobs[0].parse().unwrap()).await;
        let run = run.unwrap().unwrap();
        db::cancel::cancel(&mut ending, &run).await.unwrap();
        ending.commit().await.unwrap();
    };
    let waiting = "select exists (
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    )";
    let commit = async {
        until(async || {
            let waiting = sqlx::query_scalar(waiting);
            waiting.fetch_one(&service.pool).await.unwrap()
        })
        .await;
        cancelling.commit().await.unwrap();
    };
    tokio::join!(ending, commit);
    let left = "select job_id, state::text from run";
    let left = sqlx::query_as::<_, (JobId, String)>(left);
    let left = left.fetch_all(&service.pool).await.unwrap();
    assert_eq!(left, [(jobs[2].parse().unwrap(), "ready".to_owned())]);
}

/// Maintenance examines all blocked jobs. The check that runs every second examines only recent ones.
#[tokio::test]
async fn a_job_that_nobody_admitted_is_found_however_long_ago_it_came() {
    let service = Service::without_worker().await;
    let waits = "insert into run (job_id, tenant_id, state, rank, run_at, last_seq, conversation_id, position)
        select first_job_id(now() - interval '1 hour'), id, 'blocked', now(), now(), 1, gen_random_uuid(), 2 from tenant";
    sqlx::query(waits).execute(&service.pool).await.unwrap();
    let lately = Some(Duration::from_secs(60));
    for (within, admitted) in [(lately, 0), (None, 1), (None, 0)] {
        let found = db::conversation::admit_stalled(&service.pool, within).await;
        assert_eq!(found.unwrap(), admitted);
    }
    let state = sqlx::query_scalar::<_, String>("select state::text from run");
    assert_eq!(state.fetch_one(&service.pool).await.unwrap(), "ready");
}
