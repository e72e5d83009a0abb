//! Periodic readings of the database's clock.

use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use tokio::time::{sleep, timeout};

use super::now;
use crate::db::{self, Pool};

/// The interval between readings of the database's clock. After the database's clock was set or this machine slept,
/// the time can be wrong for this long.
const READ_INTERVAL: Duration = Duration::from_secs(10);
/// The timeout of a reading. A slower answer gives no exact time.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// The difference between the clocks above which a warning is logged.
const WARNING_THRESHOLD: TimeDelta = TimeDelta::minutes(1);
/// Reads the database's clock and sets this process's clock to it.
pub async fn read(pool: &Pool) -> sqlx::Result<()> {
    let asked_at = Instant::now();
    let answer = timeout(READ_TIMEOUT, db::now(pool)).await;
    let read = answer.map_err(|_| sqlx::Error::PoolTimedOut)??;
    // The database read its clock at some instant between request and answer.
    let read_at = asked_at + asked_at.elapsed() / 2;
    skillet_wire::clock::set(read, read_at);
    Ok(())
}

/// Reads the database's clock periodically. Never returns.
pub async fn keep(pool: Pool) {
    let mut was_off = false;
    loop {
        match read(&pool).await {
            Ok(()) => {
                let ahead = Utc::now() - now();
                let is_off = ahead.abs() > WARNING_THRESHOLD;
                if is_off && !was_off {
                    let seconds = ahead.num_seconds();
                    tracing::warn!(
                        seconds,
                        "this machine's clock is wrong: it is ahead of the database's clock, or behind if `seconds` is negative"
                    );
                }
                was_off = is_off;
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "cannot read the database's clock");
            }
        }
        sleep(READ_INTERVAL).await;
    }
}
