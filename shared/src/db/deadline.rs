//! The timeout of a wait for the database.

use std::io;
use std::time::Duration;

use tokio::time::timeout;

/// Returns the output of the future, or an outage if it takes longer than `limit`.
pub(super) async fn within<T>(
    limit: Duration,
    waiting: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    let answer = timeout(limit, waiting).await;
    answer.unwrap_or_else(|_| Err(no_answer()))
}

/// Returns the error for a server that did not respond in time.
pub(super) fn no_answer() -> sqlx::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the database did not answer in time",
    )
    .into()
}
