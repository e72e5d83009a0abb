//! `/healthz` and `/readyz`, for process supervisors and load balancers.

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use shared::asset::AssetStore;
use shared::db::Pool;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::job_writer::JobWriter;
use crate::problem::ApiError;

const PATIENCE: Duration = Duration::from_secs(2);

/// What a process without an API needs to be ready: its database, and not to be stopping.
#[derive(Clone)]
pub struct Readiness {
    /// Connections to the database.
    pub pool: Pool,
    /// Cancelled when the process takes no more work.
    pub stopping: CancellationToken,
}

/// The process lives.
#[get("/healthz")]
pub(crate) async fn healthz() -> &'static str {
    "ok"
}

/// The database answers and has our schema, jobs can be accepted, and the asset store answers.
#[get("/readyz")]
pub(crate) async fn readyz(
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
) -> Result<HttpResponse, ApiError> {
    let probe = async {
        check_schema(&pool).await?;
        // It has a connection of its own.
        writer.probe().await?;
        Ok(assets.probe().await?)
    };
    answer(probe).await
}

/// The database answers and has our schema, and the process is not stopping.
#[get("/readyz")]
pub(crate) async fn get_readiness(readiness: Data<Readiness>) -> Result<HttpResponse, ApiError> {
    let probe = async {
        if readiness.stopping.is_cancelled() {
            anyhow::bail!("the process is stopping");
        }
        check_schema(&readiness.pool).await
    };
    answer(probe).await
}

async fn check_schema(pool: &Pool) -> anyhow::Result<()> {
    if !shared::db::is_migrated(pool).await? {
        anyhow::bail!("the schema is older than this program; run `skillet migrate`");
    }
    Ok(())
}

async fn answer(
    probe: impl Future<Output = anyhow::Result<()>>,
) -> Result<HttpResponse, ApiError> {
    match timeout(PATIENCE, probe).await {
        Ok(Ok(())) => Ok(HttpResponse::Ok().body("ready")),
        Ok(Err(error)) => Err(ApiError::Unavailable(error)),
        Err(_) => Err(ApiError::Unavailable(anyhow::anyhow!(
            "no answer within {PATIENCE:?}"
        ))),
    }
}
