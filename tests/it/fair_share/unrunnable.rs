//! Lanes whose jobs no worker can run. They are closed, and opened again when a worker can run one.

use shared::db;
use shared::id::TenantId;

use super::{Field, add_worker, claim};
use crate::support::until;

async fn lane(field: &Field, tenant: TenantId) -> String {
    let lane = sqlx::query_scalar("select lane::text from tenant where id = $1");
    let lane = lane.bind(tenant.0).fetch_one(field.pool()).await;
    lane.unwrap()
}

/// Changes the job of a tenant. In `set`, `$1` is the tenant's id.
async fn change_run(field: &Field, tenant: TenantId, set: &str) {
    let change = sqlx::AssertSqlSafe(format!("update run set {set} where tenant_id = $1"));
    let change = sqlx::query(change).bind(tenant.0).execute(field.pool());
    change.await.unwrap();
}

/// Creates a tenant with a job that no worker can run, and makes a claim close its lane.
async fn stuck(field: &Field, set: &str) -> TenantId {
    let stuck = field.tenant("stuck").await;
    field.enqueue(stuck, 1).await;
    change_run(field, stuck, set).await;
    pass_by(field).await;
    assert_eq!(lane(field, stuck).await, "unrunnable");
    stuck
}

/// Makes a claim that takes a job of another tenant.
async fn pass_by(field: &Field) {
    let busy = field.tenant("busy").await;
    field.enqueue(busy, 1).await;
    let claimed = field.claim(10).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].tenant, busy);
}

#[tokio::test]
async fn a_lane_opens_when_its_skill_is_resumed() {
    let field = Field::new().await;
    let able = add_worker(field.pool(), &["html"]).await;
    db::queue::pause_skill(field.pool(), "html").await.unwrap();
    stuck(&field, "skill = 'html'").await;
    db::queue::resume_skill(field.pool(), "shell")
        .await
        .unwrap();
    assert_eq!(claim(field.pool(), able, 10).await.len(), 0);
    db::queue::resume_skill(field.pool(), "html").await.unwrap();
    assert_eq!(claim(field.pool(), able, 10).await.len(), 1);
}

#[tokio::test]
async fn a_lane_opens_when_a_worker_with_its_skill_comes() {
    let field = Field::new().await;
    let tenant = stuck(&field, "skill = 'html'").await;
    add_worker(field.pool(), &["pdf"]).await;
    assert_eq!(lane(&field, tenant).await, "unrunnable");
    let able = add_worker(field.pool(), &["html"]).await;
    assert_eq!(lane(&field, tenant).await, "ready");
    assert_eq!(claim(field.pool(), able, 10).await.len(), 1);
}

#[tokio::test]
async fn a_lane_opens_when_a_worker_with_a_network_comes() {
    let field = Field::new().await;
    let without = "update worker set isolation = 'landlocked'";
    sqlx::query(without).execute(field.pool()).await.unwrap();
    let stuck = field.tenant("stuck").await;
    field.enqueue(stuck, 1).await;
    change_run(&field, stuck, "needs_network = true").await;
    let busy = field.tenant("busy").await;
    field.enqueue(busy, 1).await;
    let skills = ["shell".to_owned()];
    let claimed = db::claim::claim(field.pool(), field.worker, &skills, 10, false).await;
    assert_eq!(claimed.unwrap().len(), 1);
    assert_eq!(lane(&field, stuck).await, "unrunnable");
    let able = add_worker(field.pool(), &["shell"]).await;
    assert_eq!(claim(field.pool(), able, 10).await.len(), 1);
}

#[tokio::test]
async fn a_lane_opens_when_a_worker_finds_the_programs_that_it_needs() {
    let field = Field::new().await;
    let tenant = stuck(&field, "needs = '{convert|magick,ffmpeg}'").await;
    for (found, stands) in [("ffmpeg", "unrunnable"), ("magick", "ready")] {
        let found = [found.to_owned()];
        let added = db::worker::add_programs(field.pool(), field.worker, &found);
        added.await.unwrap();
        assert_eq!(lane(&field, tenant).await, stands);
    }
    assert_eq!(field.claim(10).await.len(), 1);
}

#[tokio::test]
async fn a_lane_opens_when_a_job_comes_that_can_run() {
    let field = Field::new().await;
    let tenant = stuck(&field, "skill = 'html'").await;
    field.enqueue(tenant, 1).await;
    assert_eq!(field.claim(10).await.len(), 1);
    pass_by(&field).await;
    assert_eq!(lane(&field, tenant).await, "unrunnable");
}

#[tokio::test]
async fn a_lane_opens_when_the_time_of_a_job_comes_that_can_run() {
    let field = Field::new().await;
    let tenant = field.tenant("stuck").await;
    field.enqueue(tenant, 1).await;
    let later = "state = 'scheduled', run_at = now() + interval '1 hour'";
    change_run(&field, tenant, later).await;
    field.enqueue(tenant, 1).await;
    let other = "skill = case when state = 'ready' then 'html' else skill end";
    change_run(&field, tenant, other).await;
    pass_by(&field).await;
    assert_eq!(lane(&field, tenant).await, "unrunnable");
    change_run(&field, tenant, "run_at = now()").await;
    assert_eq!(db::claim::promote(field.pool()).await.unwrap(), 1);
    assert_eq!(field.claim(10).await.len(), 1);
}

#[tokio::test]
async fn a_lane_stays_open_while_another_worker_can_run_its_jobs() {
    let field = Field::new().await;
    let tenant = field.tenant("elsewhere").await;
    field.enqueue(tenant, 1).await;
    change_run(&field, tenant, "skill = 'html'").await;
    let [able, leaving] = [
        add_worker(field.pool(), &["html"]).await,
        add_worker(field.pool(), &["html"]).await,
    ];
    for _ in 0..3 {
        pass_by(&field).await;
    }
    assert_eq!(lane(&field, tenant).await, "ready");
    db::worker::drain(field.pool(), leaving).await.unwrap();
    db::worker::stop(field.pool(), able).await.unwrap();
    pass_by(&field).await;
    assert_eq!(lane(&field, tenant).await, "unrunnable");
    assert_eq!(db::lane::reopen(field.pool()).await.unwrap(), 0);
}

/// The claim that closes the lane has not committed when the new worker registers.
#[tokio::test]
async fn a_worker_that_comes_while_a_lane_is_being_closed_finds_it() {
    let field = Field::new().await;
    let [busy, tenant] = [field.tenant("busy").await, field.tenant("stuck").await];
    field.enqueue(busy, 1).await;
    field.enqueue(tenant, 1).await;
    change_run(&field, tenant, "skill = 'html'").await;
    let mut claiming = field.pool().begin().await.unwrap();
    let skills = ["shell".to_owned()];
    let claimed = db::claim::claim(&mut *claiming, field.worker, &skills, 10, true).await;
    assert_eq!(claimed.unwrap().len(), 1);
    let pool = field.pool().clone();
    let coming = tokio::spawn(async move { add_worker(&pool, &["html"]).await });
    waits_for_a_lock(&field).await;
    claiming.commit().await.unwrap();
    let able = coming.await.unwrap();
    assert_eq!(claim(field.pool(), able, 10).await.len(), 1);
}

#[tokio::test]
async fn a_lane_that_was_closed_as_unrunnable_by_mistake_is_found_and_opened() {
    let field = Field::new().await;
    let tenant = field.tenant("forgotten").await;
    field.enqueue(tenant, 1).await;
    let closed = "update tenant set lane = 'unrunnable'";
    sqlx::query(closed).execute(field.pool()).await.unwrap();
    assert_eq!(db::lane::reopen(field.pool()).await.unwrap(), 1);
    assert_eq!(field.claim(1).await.len(), 1);
}

/// Waits until a connection to the field's database waits for a lock.
pub(super) async fn waits_for_a_lock(field: &Field) {
    let waiting = "select exists (
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    )";
    until(async || {
        let waiting = sqlx::query_scalar(waiting);
        waiting.fetch_one(field.pool()).await.unwrap()
    })
    .await;
}
