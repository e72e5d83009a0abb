//! Invalid requests: each names the error and its place, and changes nothing.

mod body;
mod field;
mod nul;
mod path;

use crate::support::Service;
use crate::support::store::assert_stores_nothing;

/// Nothing of a refused request is kept, in the database or in the asset store.
async fn assert_untouched(service: &Service) {
    for table in ["job", "run", "asset", "job_event", "idempotency_key"] {
        let count = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
        let count = sqlx::query_scalar::<_, i64>(count);
        assert_eq!(count.fetch_one(&service.pool).await.unwrap(), 0, "{table}");
    }
    assert_stores_nothing(service);
}
