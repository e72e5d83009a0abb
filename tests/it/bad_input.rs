//! Invalid requests. Each error names its location, and the request changes nothing.

mod body;
mod field;
mod nul;
mod path;

use crate::support::Service;
use crate::support::store::assert_stores_nothing;

/// Asserts that a rejected request left nothing in the database or the asset store.
async fn assert_untouched(service: &Service) {
    for table in ["job", "run", "asset", "job_event", "idempotency_key"] {
        let count = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
        let count = sqlx::query_scalar::<_, i64>(count);
        assert_eq!(count.fetch_one(&service.pool).await.unwrap(), 0, "{table}");
    }
    assert_stores_nothing(service);
}
