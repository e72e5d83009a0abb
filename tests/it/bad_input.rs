//! Requests that cannot be done: each is refused with what is wrong and where, and leaves nothing behind.

mod body;
mod field;
mod nul;
mod path;

use crate::support::Service;

/// Nothing of a refused request is kept, in the database or in the asset store.
async fn assert_untouched(service: &Service) {
    for table in ["job", "run", "asset", "job_event", "idempotency_key"] {
        let count = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
        let count = sqlx::query_scalar::<_, i64>(count);
        assert_eq!(count.fetch_one(&service.pool).await.unwrap(), 0, "{table}");
    }
    let mut folders = vec![service.home.path().join("assets")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert!(path.is_dir(), "{} was left", path.display());
            folders.push(path);
        }
    }
}
