//! `/healthz` and `/readyz`, for process supervisors and load balancers.

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use shared::asset::AssetStore;
use shared::db::Pool;
use tokio::time::timeout;

use crate::job_writer::JobWriter;
use crate::problem::ApiError;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Liveness probe: the process is running.
#[get("/healthz")]
pub(crate) async fn healthz() -> &'static str {
    "ok"
}

/// Readiness probe: the database responds and has the required schema, jobs can be accepted, and the asset store
/// responds.
#[get("/readyz")]
pub(crate) async fn readyz(
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
) -> Result<HttpResponse, ApiError> {
    let probe = async {
        if !shared::db::is_migrated(&pool).await? {
            anyhow::bail!("the schema is older than this program; run `skillet migrate`");
        }
        // The writer has its own connection.
        writer.probe().await?;
        Ok(assets.probe().await?)
    };
    match timeout(TIMEOUT, probe).await {
        Ok(Ok(())) => Ok(HttpResponse::Ok().body("ready")),
        Ok(Err(error)) => Err(ApiError::Unavailable(error)),
        Err(_) => Err(ApiError::Unavailable(anyhow::anyhow!(
            "no answer within {TIMEOUT:?}"
        ))),
    }
}
