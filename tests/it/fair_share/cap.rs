//! Caps on the running jobs of a tenant.

use std::time::{Duration, Instant};

use chrono::Utc;
use serde_json::{Value, json};
use shared::db::Pool;
use shared::db::log::{Append, RunTransition, append};
use shared::event::{EventData, JobRetrying, RetryCause};
use shared::job::{JobResult, Outcome};

use super::unrunnable::waits_for_a_lock;
use super::{Field, add_worker, claim};
use crate::support::{Service, until};

async fn count_running(pool: &Pool) -> i64 {
    sqlx::query_scalar("select count(*) from run where state = 'running'")
        .fetch_one(pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_cap_is_exact_with_three_workers_at_once() {
    const JOBS: usize = 40;
    let field = Field::new().await;
    let tenant = field.tenant("capped").await;
    field.change(tenant, 1, Some(3)).await;
    field.enqueue(tenant, JOBS as i32).await;
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..3 {
        let worker = add_worker(field.pool(), &["shell"]).await;
        let pool = shared::db::connect(&field.service.database_url, "test", 1);
        let pool = pool.await.unwrap();
        workers.spawn(async move {
            let mut finished = 0;
            let begun_at = Instant::now();
            loop {
                let claimed = claim(&pool, worker, 2).await;
                let running = count_running(&pool).await;
                assert!(running <= 3, "{running} run");
                for (place, claimed) in claimed.into_iter().enumerate() {
                    // Some jobs are handed back and started again.
                    let hand_back = claimed.job.attempt == 1 && place == 1 && number == 0;
                    let (event, next) = if hand_back {
                        retried()
                    } else {
                        finished += 1;
                        let done = JobResult::default();
                        shared::db::log::finish(claimed.job, Outcome::Completed, Utc::now(), done)
                    };
                    let end = Append {
                        lease: claimed.lease,
                        base: claimed.last_seq,
                        events: vec![event],
                        next,
                    };
                    assert_eq!(append(&pool, &[end]).await.unwrap().valid.len(), 1);
                }
                let left: i64 = sqlx::query_scalar("select count(*) from run")
                    .fetch_one(&pool)
                    .await
                    .unwrap();
                if left == 0 {
                    return finished;
                }
                assert!(begun_at.elapsed() < Duration::from_secs(60), "{left} left");
            }
        });
    }
    let finished: usize = workers.join_all().await.into_iter().sum();
    assert_eq!(finished, JOBS);
}

/// Two claims begin while another tenant is alone, which needs no lock. They read the queue when the capped tenant
/// has jobs too.
#[tokio::test]
async fn a_cap_is_exact_when_its_tenant_comes_while_another_is_alone() {
    let field = Field::new().await;
    let [alone, capped] = [field.tenant("alone").await, field.tenant("capped").await];
    field.change(capped, 1, Some(1)).await;
    field.enqueue(alone, 20).await;
    // Make the claims stop before they look for lanes.
    let source = "select pg_get_functiondef('claim(uuid, text[], bigint, boolean)'::regprocedure)";
    let source: String = sqlx::query_scalar(source)
        .fetch_one(field.pool())
        .await
        .unwrap();
    let lanes = "-- As many lanes as there are slots";
    assert!(source.contains(lanes), "{source}");
    let halt = format!("perform pg_advisory_xact_lock_shared(1, 1);\n{lanes}");
    let halting = sqlx::AssertSqlSafe(source.replacen(lanes, &halt, 1));
    sqlx::query(halting).execute(field.pool()).await.unwrap();
    // These claims find that the capped tenant has no jobs, and close its lane.
    assert_eq!(field.claim(1).await.len(), 1);
    assert_eq!(field.claim(1).await.len(), 1);

    let mut holder = field.pool().begin().await.unwrap();
    let hold = sqlx::query("select pg_advisory_xact_lock(1, 1)");
    hold.execute(&mut *holder).await.unwrap();
    let mut claims = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let (pool, worker) = (field.pool().clone(), field.worker);
        claims.spawn(async move { claim(&pool, worker, 6).await });
    }
    until(async || {
        let halted = "select count(*) = 2 from pg_locks where locktype = 'advisory' and classid = 1 and not granted
            and database = (select oid from pg_database where datname = current_database())";
        let halted = sqlx::query_scalar(halted);
        halted.fetch_one(&mut *holder).await.unwrap()
    })
    .await;
    let jobs = "insert into run (job_id, tenant_id, skill, state, rank, run_at, last_seq)
        select gen_random_uuid(), $1, 'shell', 'ready', now(), now(), 1 from generate_series(1, 6)";
    let jobs = sqlx::query(jobs).bind(capped.0).execute(field.pool());
    jobs.await.unwrap();
    holder.rollback().await.unwrap();
    claims.join_all().await;
    let running = "select count(*) from run where state = 'running' and tenant_id = $1";
    let running = sqlx::query_scalar::<_, i64>(running).bind(capped.0);
    let running = running.fetch_one(field.pool()).await.unwrap();
    assert!(running <= 1, "{running} run");
}

/// A claim that found no cap has not committed when the cap is set.
#[tokio::test]
async fn a_cap_counts_from_the_moment_in_which_it_is_set() {
    let field = Field::new().await;
    let tenant = field.tenant("tenant").await;
    field.enqueue(tenant, 10).await;
    let mut claiming = field.pool().begin().await.unwrap();
    let skills = ["shell".to_owned()];
    let claimed = shared::db::claim::claim(&mut *claiming, field.worker, &skills, 3, true).await;
    assert_eq!(claimed.unwrap().len(), 3);
    let set_and_claim = async {
        field.change(tenant, 1, Some(4)).await;
        field.claim(10).await
    };
    let commit = async {
        waits_for_a_lock(&field).await;
        claiming.commit().await.unwrap();
    };
    let (claimed, ()) = tokio::join!(set_and_claim, commit);
    assert_eq!(claimed.len(), 1);
}

fn retried() -> (EventData, RunTransition) {
    let (cause, run_at) = (RetryCause::Drain, Utc::now());
    let message = "handed back".to_owned();
    let event = EventData::JobRetrying(JobRetrying {
        cause,
        message,
        run_at,
    });
    (event, RunTransition::Requeue { cause, run_at })
}

#[tokio::test]
async fn a_cap_holds_over_workers_that_are_killed() {
    let mut service = Service::without_worker().await;
    for _ in 0..3 {
        service.add_worker(&[("SKILLET_SLOTS", "4")]).await;
    }
    let tenant = tenant(&service).await;
    let (status, changed) = service.patch(&tenant, &json!({"max_running": 2})).await;
    assert_eq!((status.as_u16(), &changed["max_running"]), (200, &json!(2)));
    let mut jobs = Vec::new();
    for _ in 0..10 {
        jobs.push(service.create_shell("sleep 0.2").await);
    }
    let begun_at = Instant::now();
    let mut was_killed = false;
    loop {
        let running = count_running(&service.pool).await;
        assert!(running <= 2, "{running} run");
        let holder = sqlx::query_scalar::<_, String>(
            "select home from worker join run on worker_id = worker.id limit 1",
        );
        let holder = holder.fetch_optional(&service.pool).await.unwrap();
        if let Some(home) = holder.filter(|_| !was_killed) {
            was_killed = true;
            let number = home.rsplit('-').next().unwrap().parse::<usize>().unwrap();
            service.workers[number].kill();
        }
        let left: i64 = sqlx::query_scalar("select count(*) from run")
            .fetch_one(&service.pool)
            .await
            .unwrap();
        if left == 0 {
            break;
        }
        assert!(begun_at.elapsed() < Duration::from_secs(60), "{left} left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(was_killed);
    for job in &jobs {
        assert_eq!(service.finished(job).await["status"], "completed");
    }
}

#[tokio::test]
async fn a_job_at_the_cap_says_so_and_runs_when_the_cap_is_raised() {
    let service = Service::start().await;
    let tenant = tenant(&service).await;
    service.patch(&tenant, &json!({"max_running": 0})).await;
    let job = service.create_shell("true").await;
    let queue = service.get(&format!("/v1/jobs/{job}")).await.1["queue"].clone();
    assert_eq!(queue, json!({"reason": "tenant_cap", "max_running": 0}));
    let (_, shown) = service.patch(&tenant, &json!({"max_running": null})).await;
    assert_eq!(
        (&shown["max_running"], &shown["weight"]),
        (&Value::Null, &json!(1))
    );
    assert_eq!(service.finished(&job).await["status"], "completed");
}

#[tokio::test]
async fn a_share_is_changed_in_parts_and_checked() {
    let service = Service::without_worker().await;
    let tenant = tenant(&service).await;
    let (_, shown) = service
        .patch(&tenant, &json!({"weight": 3, "max_running": 7}))
        .await;
    assert_eq!(
        (&shown["weight"], &shown["max_running"]),
        (&json!(3), &json!(7))
    );
    let (_, same) = service.patch(&tenant, &json!({})).await;
    assert_eq!(same, shown);
    assert_eq!(service.get(&tenant).await.1, shown);
    for wrong in [
        json!({"weight": 0}),
        json!({"weight": 1001}),
        json!({"max_running": -1}),
        json!({"max_running": 1_000_001}),
    ] {
        let (status, problem) = service.patch(&tenant, &wrong).await;
        assert_eq!(status, 422, "{wrong}");
        let name = wrong.as_object().unwrap().keys().next().unwrap();
        assert_eq!(problem["errors"][0]["pointer"], format!("/{name}"));
    }
    let nobody = "/v1/tenants/01900000-0000-7000-8000-000000000000";
    assert_eq!(service.patch(nobody, &json!({})).await.0, 404);
    assert_eq!(service.get(&tenant).await.1, shown);
}

async fn tenant(service: &Service) -> String {
    let (_, tenants) = service.get("/v1/tenants").await;
    format!("/v1/tenants/{}", tenants["data"][0]["id"].as_str().unwrap())
}
