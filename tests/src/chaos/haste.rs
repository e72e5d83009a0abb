//! Time that passes faster for deliveries to webhooks.

use std::time::Duration;

use shared::db::Pool;
use tokio::time::{Instant, sleep};

/// How much faster time passes for the pauses between attempts: 75 hours of them take less than four minutes.
pub(crate) const HASTE: u32 = 1_200;
/// How much faster it passes for the claims of workers, which attempts must not outlast on a busy machine.
const CLAIM_HASTE: u32 = 10;
const STEP: Duration = Duration::from_millis(100);

/// Lets time pass faster for deliveries, until it is dropped.
pub(super) async fn hasten(pool: Pool) {
    let mut passed_at = Instant::now();
    loop {
        sleep(STEP).await;
        let passed = passed_at.elapsed();
        // The database may be away, or a delivery locked by a process that is stopped: time passes later then.
        if pass(&pool, passed).await.is_ok() {
            passed_at += passed;
        }
    }
}

/// Brings deliveries nearer to their next attempts, as if the time had been longer.
async fn pass(pool: &Pool, time: Duration) -> sqlx::Result<()> {
    let mut transaction = pool.begin().await?;
    sqlx::query("set local lock_timeout = '100ms'")
        .execute(&mut *transaction)
        .await?;
    // In the order in which the service locks them.
    let states = "select from webhook_state order by webhook_id for update";
    sqlx::query(states).execute(&mut *transaction).await?;
    let nearer = "update webhook_delivery set
                      due_at = due_at - case when claim is null then $1 else $2 end * interval '1 second'
                  where state = 'pending' and due_at > now()";
    let moved = sqlx::query(nearer)
        .bind((time * (HASTE - 1)).as_secs_f64())
        .bind((time * (CLAIM_HASTE - 1)).as_secs_f64())
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
