//! The probes of a worker, served by its metrics listener.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use shared::db::{self, Pool};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The longest that a probe waits for the database. The Kubernetes probe timeout is 1 s by default, and 5 s in the
/// chart.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The state that `/readyz` of a worker reports.
#[derive(Clone)]
pub struct WorkerProbe {
    /// A separate connection, because those of the worker may be busy for longer than a probe waits.
    pub pool: Pool,
    /// Whether the worker is registered. It is not while it tests its sandbox at startup.
    pub registered: Arc<AtomicBool>,
    /// Cancelled when the worker drains.
    pub drain: CancellationToken,
}

impl WorkerProbe {
    async fn check(&self) -> Result<(), String> {
        if self.drain.is_cancelled() {
            return Err("the worker is draining".to_owned());
        }
        if !self.registered.load(Ordering::Relaxed) {
            return Err("the worker is not registered".to_owned());
        }
        match timeout(TIMEOUT, db::ping(&self.pool)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "not ready");
                Err("the database cannot be reached".to_owned())
            }
            Err(_) => Err(format!("the database did not answer within {TIMEOUT:?}")),
        }
    }
}

/// Readiness probe: the worker is registered and does not drain, and its database responds.
#[get("/readyz")]
pub(crate) async fn readyz(probe: Data<WorkerProbe>) -> HttpResponse {
    match probe.check().await {
        Ok(()) => HttpResponse::Ok().body("ready"),
        Err(reason) => HttpResponse::ServiceUnavailable().body(reason),
    }
}
