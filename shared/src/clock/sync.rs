//! Periodic readings of the database's clock.

use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use tokio::time::{sleep, timeout};

use super::now;
use crate::db::{self, Pool};

/// How often the database is asked. For as long the time may be wrong after the database's clock was set, or after this
/// machine slept.
const READ_INTERVAL: Duration = Duration::from_secs(10);
/// An answer that takes longer says too little about the time.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// A larger difference between the clocks is logged as a warning.
const WORTH_A_WARNING: TimeDelta = TimeDelta::minutes(1);
/// Reads the database's clock.
pub async fn read(pool: &Pool) -> sqlx::Result<()> {
    let asked_at = Instant::now();
    let answer = timeout(READ_TIMEOUT, db::now(pool)).await;
    let read = answer.map_err(|_| sqlx::Error::PoolTimedOut)??;
    // The answer is from somewhere between.
    let read_at = asked_at + asked_at.elapsed() / 2;
    skillet_wire::clock::set(read, read_at);
    Ok(())
}

/// Goes on reading it until it is dropped.
pub async fn keep(pool: Pool) {
    let mut was_off = false;
    loop {
        match read(&pool).await {
            Ok(()) => {
                let ahead = Utc::now() - now();
                let is_off = ahead.abs() > WORTH_A_WARNING;
                if is_off && !was_off {
                    let seconds = ahead.num_seconds();
                    tracing::warn!(
                        seconds,
                        "this machine's clock is wrong: it is ahead of the database's by so many seconds"
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
