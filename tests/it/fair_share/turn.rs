//! The order of tenants.

use std::time::Duration;

use serde_json::json;
use shared::db;
use shared::db::lane::decayed;
use shared::id::JobId;

use super::{Field, add_worker, claim};

#[tokio::test]
async fn twice_the_weight_gets_twice_the_jobs() {
    let field = Field::new().await;
    let [heavy, light] = [field.tenant("heavy").await, field.tenant("light").await];
    field.change(heavy, 2, None).await;
    for tenant in [heavy, light] {
        field.enqueue(tenant, 100).await;
    }
    let [heavy, light] = field.count_claims(90, [heavy, light]).await;
    assert!((58..=62).contains(&heavy), "{heavy} to {light}");
}

#[tokio::test]
async fn time_is_shared_and_not_jobs() {
    let field = Field::new().await;
    let slow = field.tenant("slow").await;
    let quick = field.tenant("quick").await;
    for tenant in [slow, quick] {
        field.enqueue(tenant, 100).await;
    }
    let mut slow_jobs = 0;
    for _ in 0..80 {
        let claimed = field.claim(1).await.swap_remove(0);
        let seconds = if claimed.tenant == slow { 3.0 } else { 1.0 };
        slow_jobs += usize::from(claimed.tenant == slow);
        let rest = seconds - decayed(claimed.prepaid, Duration::ZERO);
        let bill = [(claimed.tenant, rest)];
        db::lane::charge(field.pool(), &bill).await.unwrap();
    }
    assert!((18..=22).contains(&slow_jobs), "{slow_jobs} of 80");
}

#[tokio::test]
async fn a_newcomer_is_next_although_a_thousand_wait() {
    let field = Field::new().await;
    let whale = field.tenant("whale").await;
    field.enqueue(whale, 1000).await;
    assert_eq!(field.claim(8).await.len(), 8);
    // The worker sends this bill every second.
    let bill = [(whale, 8.0)];
    db::lane::charge(field.pool(), &bill).await.unwrap();
    let newcomer = field.tenant("newcomer").await;
    field.enqueue(newcomer, 1).await;
    assert_eq!(field.claim(1).await[0].tenant, newcomer);
    assert_eq!(field.claim(1).await[0].tenant, whale);
}

#[tokio::test]
async fn who_was_idle_has_saved_nothing_up() {
    let field = Field::new().await;
    let [busy, idle] = [field.tenant("busy").await, field.tenant("idle").await];
    field.enqueue(busy, 100).await;
    // The claim passes the lane of the default tenant and closes it, so that no tenant is level with it.
    assert_eq!(field.claim(2).await.len(), 2);
    let bill = [(busy, 1000.0)];
    db::lane::charge(field.pool(), &bill).await.unwrap();
    field.enqueue(idle, 100).await;
    let [of_busy, of_idle] = field.count_claims(20, [busy, idle]).await;
    assert!(of_busy.abs_diff(of_idle) <= 2, "{of_busy} to {of_idle}");
}

#[tokio::test]
async fn one_claim_serves_several_tenants_and_leaves_nothing() {
    let field = Field::new().await;
    for number in 0..10 {
        let tenant = field.tenant(&format!("tenant {number}")).await;
        field
            .enqueue(tenant, if number == 0 { 100 } else { 1 })
            .await;
    }
    let mut claimed = Vec::new();
    loop {
        let more = field.claim(40).await;
        if more.is_empty() {
            break;
        }
        claimed.extend(more.into_iter().map(|it| it.tenant.0));
    }
    assert_eq!(claimed.len(), 109);
    let mut first = claimed[..40.min(claimed.len())].to_vec();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), 10, "each had a turn in the first claims");
}

#[tokio::test]
async fn priority_holds_within_a_tenant_whatever_the_skills() {
    let field = Field::new().await;
    let create = async |skill: &str, priority: i32| {
        let body =
            json!({"skill": skill, "model": "script/bash", "prompt": "x", "priority": priority});
        field.service.create(&body).await
    };
    let expected = [
        create("html", 9).await,
        create("shell", 5).await,
        create("html", 0).await,
        create("shell", 0).await,
        create("html", -3).await,
    ];
    // Simulate a job that was submitted earlier, so that it now has the best rank.
    let aged = create("shell", -4).await;
    sqlx::query("update run set rank = rank - interval '20 min' where job_id = $1")
        .bind(aged.parse::<JobId>().unwrap())
        .execute(field.pool())
        .await
        .unwrap();
    let worker = add_worker(field.pool(), &["shell", "html"]).await;
    assert_eq!(ids(&claim(field.pool(), worker, 1).await), [aged]);
    assert_eq!(ids(&claim(field.pool(), worker, 2).await), expected[..2]);
    assert_eq!(ids(&claim(field.pool(), worker, 9).await), expected[2..]);
}

#[tokio::test]
async fn a_worker_passes_by_what_it_cannot_run() {
    let field = Field::new().await;
    let [stuck, other] = [field.tenant("stuck").await, field.tenant("other").await];
    field.enqueue(stuck, 500).await;
    let html = json!({"skill": "html", "model": "script/bash", "prompt": "x"});
    let behind = field.service.create(&html).await;
    sqlx::query("update run set tenant_id = $1 where skill = 'html'")
        .bind(stuck.0)
        .execute(field.pool())
        .await
        .unwrap();
    sqlx::query("update job set tenant_id = $1 where skill = 'html'")
        .bind(stuck.0)
        .execute(field.pool())
        .await
        .unwrap();
    let html_only = add_worker(field.pool(), &["html"]).await;
    assert_eq!(ids(&claim(field.pool(), html_only, 5).await), [behind]);
    // Jobs that a worker passes stay available to others, and do not delay other tenants.
    field.enqueue(other, 1).await;
    assert_eq!(ids(&claim(field.pool(), html_only, 5).await), [""; 0]);
    let mut both: Vec<_> = field.claim(2).await.iter().map(|it| it.tenant).collect();
    both.sort_unstable_by_key(|tenant| *tenant == other);
    assert_eq!(both, [stuck, other]);
}

fn ids(claimed: &[db::claim::Claimed]) -> Vec<String> {
    claimed.iter().map(|it| it.job.id.to_string()).collect()
}
