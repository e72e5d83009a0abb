//! Accelerated time for webhook deliveries.

use std::time::Duration;

use shared::db::Pool;
use tokio::time::{Instant, sleep};

/// The time factor for the pauses between delivery attempts: 75 hours pass in less than four minutes.
pub(crate) const TIME_FACTOR: u32 = 1_200;
/// The time factor for the claims of workers. It is lower because no attempt may outlast its claim on a busy machine.
const CLAIM_TIME_FACTOR: u32 = 10;
const STEP: Duration = Duration::from_millis(100);

/// Accelerates time for deliveries until the future is dropped.
pub(super) async fn speed_up(pool: Pool) {
    let mut passed_at = Instant::now();
    loop {
        sleep(STEP).await;
        let passed = passed_at.elapsed();
        // The database may be down, or a stopped process may hold a lock on a delivery. Then the time is added later.
        if pass(&pool, passed).await.is_ok() {
            passed_at += passed;
        }
    }
}

/// Moves the due times of deliveries forward, as if more time had passed.
async fn pass(pool: &Pool, time: Duration) -> sqlx::Result<()> {
    let mut transaction = pool.begin().await?;
    sqlx::query("set local lock_timeout = '100ms'")
        .execute(&mut *transaction)
        .await?;
    // Lock in the same order as the service does.
    let states = "select from webhook_state order by webhook_id for update";
    sqlx::query(states).execute(&mut *transaction).await?;
    let nearer = "update webhook_delivery set
                      due_at = due_at - case when claim is null then $1 else $2 end * interval '1 second'
                  where state = 'pending' and due_at > now()";
    let moved = sqlx::query(nearer)
        .bind((time * (TIME_FACTOR - 1)).as_secs_f64())
        .bind((time * (CLAIM_TIME_FACTOR - 1)).as_secs_f64())
        .execute(&mut *transaction)
        .await?;
    if moved.rows_affected() > 0 {
        let look = "update webhook_state set next_at = now() where next_at is not null";
        sqlx::query(look).execute(&mut *transaction).await?;
        sqlx::query("select pg_notify('skillet_webhook', '')")
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}
