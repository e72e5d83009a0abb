//! Races between closing a lane and adding jobs to it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use shared::db;
use tokio::task::JoinSet;

use super::{Field, claim, enqueue};

const TENANTS: usize = 4;
const SUBMITTERS: usize = 4;
const JOBS_EACH: usize = 60;

/// Lanes close and open constantly in this test, because the queue contains only the jobs that were just submitted.
#[tokio::test]
async fn no_job_is_lost_between_those_who_submit_and_those_who_claim() {
    let field = Field::new().await;
    let mut tenants = Vec::new();
    for number in 0..TENANTS {
        tenants.push(field.tenant(&format!("tenant {number}")).await);
    }
    let left: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(SUBMITTERS)));
    let mut submitters = JoinSet::new();
    for number in 0..SUBMITTERS {
        let (pool, tenants, model) = (connect(&field).await, tenants.clone(), field.model);
        submitters.spawn(async move {
            for job in 0..JOBS_EACH {
                enqueue(&pool, model, tenants[(number + job) % TENANTS], 1).await;
            }
            left.fetch_sub(1, Ordering::SeqCst);
        });
    }
    let mut claimers = JoinSet::new();
    for slots in [1, 1, 3] {
        let (pool, worker) = (connect(&field).await, field.worker);
        claimers.spawn(async move {
            let mut taken = Vec::new();
            let begun_at = Instant::now();
            // Jobs that are left after the last submission must be found without maintenance.
            loop {
                let was_last = left.load(Ordering::SeqCst) == 0;
                let claimed = claim(&pool, worker, slots).await;
                if claimed.is_empty() && was_last {
                    return taken;
                }
                taken.extend(claimed.into_iter().map(|it| it.job.id));
                assert!(begun_at.elapsed() < Duration::from_secs(120), "no end");
            }
        });
    }
    submitters.join_all().await;
    let taken: Vec<_> = claimers.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), SUBMITTERS * JOBS_EACH);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), taken.len());
    assert_eq!(db::lane::reopen(field.pool()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_lane_that_was_closed_by_mistake_is_found_and_opened() {
    let field = Field::new().await;
    let tenant = field.tenant("forgotten").await;
    field.enqueue(tenant, 1).await;
    sqlx::query("update tenant set lane = 'empty'")
        .execute(field.pool())
        .await
        .unwrap();
    assert_eq!(field.claim(1).await.len(), 0);
    assert_eq!(db::lane::reopen(field.pool()).await.unwrap(), 1);
    assert_eq!(field.claim(1).await.len(), 1);
}

/// Opens a separate connection, since the pool of the field has only four.
async fn connect(field: &Field) -> shared::db::Pool {
    let url = &field.service.database_url;
    db::connect(url, "test", 1).await.unwrap()
}
