//! Leases of quota in the database.

use std::num::NonZeroU32;
use std::time::Duration;

use shared::db::provider::{self, QuotaDemand, QuotaLease};
use shared::id::WorkerId;
use shared::provider::AccountLimits;

use crate::support::Service;

const ACCOUNT: &str = "anthropic:0123";

async fn account() -> Service {
    let service = Service::without_worker().await;
    let state = provider::get_or_insert_state(&service.pool, ACCOUNT, "anthropic").await;
    assert_eq!(state.unwrap().open_for, None);
    service
}

async fn lease(
    service: &Service,
    worker: WorkerId,
    limits: &AccountLimits,
    demand: &QuotaDemand,
) -> QuotaLease {
    let lease = provider::lease_quota(&service.pool, ACCOUNT, worker, limits, demand);
    lease.await.unwrap()
}

fn calls(count: i32, tokens: f64) -> QuotaDemand {
    QuotaDemand {
        costs: vec![tokens; count.unsigned_abs() as usize],
        correction: 0.0,
        running: 0,
        waiting: count,
    }
}

#[tokio::test]
async fn starts_of_all_workers_are_as_far_apart_as_the_limit_wants() {
    let service = account().await;
    let limits = AccountLimits {
        requests_per_minute: NonZeroU32::new(600),
        ..AccountLimits::default()
    };
    let first = lease(&service, WorkerId::new(), &limits, &calls(5, 0.0)).await;
    assert_eq!(first.starts.len(), 5);
    let gaps = first.starts.windows(2).map(|pair| pair[1] - pair[0]);
    for gap in gaps {
        let gap = gap.as_secs_f64();
        assert!((0.1..0.11).contains(&gap), "{gap}");
    }
    let second = lease(&service, WorkerId::new(), &limits, &calls(100, 0.0)).await;
    assert!(
        second.starts.len() < 20,
        "no more than the next two seconds"
    );
    assert!(second.next_start > Duration::from_secs(1), "{second:?}");
    assert_eq!(second.may_run, None);
}

#[tokio::test]
async fn tokens_that_were_not_used_are_given_back() {
    let service = account().await;
    let limits = AccountLimits {
        tokens_per_minute: NonZeroU32::new(60_000),
        ..AccountLimits::default()
    };
    let worker = WorkerId::new();
    let first = lease(&service, worker, &limits, &calls(2, 10_000.0)).await;
    assert_eq!(
        first.starts,
        [Duration::ZERO],
        "the second is ten seconds away"
    );
    let demand = QuotaDemand {
        correction: -9_000.0,
        ..calls(1, 10_000.0)
    };
    let second = lease(&service, worker, &limits, &demand).await;
    assert_eq!(second.starts.len(), 1, "{second:?}");
    assert!(second.starts[0] < Duration::from_millis(1100), "{second:?}");
}

#[tokio::test]
async fn workers_share_the_calls_in_progress() {
    let service = account().await;
    let limits = AccountLimits {
        max_concurrent: NonZeroU32::new(4),
        ..AccountLimits::default()
    };
    let (first, second) = (WorkerId::new(), WorkerId::new());
    let all = lease(&service, first, &limits, &calls(10, 0.0)).await;
    assert_eq!(all.may_run, Some(4));
    let none = lease(&service, second, &limits, &calls(10, 0.0)).await;
    assert_eq!(none.may_run, Some(0));
    // Two calls of the first worker have ended. Other workers wait, so the first worker gets no new calls.
    let busy = QuotaDemand {
        running: 2,
        waiting: 8,
        ..calls(0, 0.0)
    };
    assert_eq!(
        lease(&service, first, &limits, &busy).await.may_run,
        Some(2)
    );
    let half = lease(&service, second, &limits, &calls(10, 0.0)).await;
    assert_eq!(half.may_run, Some(2));
    // The first worker becomes silent.
    sqlx::query(
        "update provider_slice set expires_at = now() - interval '1 second' where worker_id = $1",
    )
    .bind(first.0)
    .execute(&service.pool)
    .await
    .unwrap();
    let rest = lease(&service, second, &limits, &calls(10, 0.0)).await;
    assert_eq!(rest.may_run, Some(4));
}
