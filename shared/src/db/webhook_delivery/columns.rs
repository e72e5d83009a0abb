//! Deliveries and attempts as arrays for statements.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::db::columns::columns;

columns! {
    /// A delivery to insert.
    struct NewDeliveryColumns of NewDeliveryRow {
        id: Uuid,
        webhook: Uuid,
        url: Option<String>,
        job: Uuid,
        seq: i64,
        kind: String,
        at: DateTime<Utc>,
        job_status: String,
        is_disabled: bool,
    }
}

columns! {
    /// The result of an attempt.
    struct AttemptColumns of AttemptRow {
        id: Uuid,
        claim: Uuid,
        webhook: Uuid,
        is_test: bool,
        state: &'static str,
        pause: f64,
        status: Option<i16>,
        ms: i32,
        error: Option<String>,
        response: Option<String>,
    }
}
