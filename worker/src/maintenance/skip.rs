//! Errors of single jobs in maintenance, which do not stop the others.

use shared::db;
use shared::id::JobId;

/// Skips a job with an error, unless the database is unreachable for all jobs.
pub(super) fn skip(job: JobId, error: db::Error) -> db::Result<()> {
    if db::is_outage(&error) {
        return Err(error);
    }
    let error = &error as &dyn std::error::Error;
    tracing::error!(%job, error, "maintenance skipped a job");
    Ok(())
}
