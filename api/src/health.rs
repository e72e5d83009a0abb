//! `/healthz` and `/readyz`, for whoever runs the process.

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use shared::asset::AssetStore;
use sqlx::PgPool;
use tokio::time::timeout;

use crate::problem::ApiError;

const PATIENCE: Duration = Duration::from_secs(2);

/// The process lives.
#[get("/healthz")]
pub(crate) async fn healthz() -> &'static str {
    "ok"
}

/// The database answers and has our schema, and the asset store answers.
#[get("/readyz")]
pub(crate) async fn readyz(
    pool: Data<PgPool>,
    assets: Data<AssetStore>,
) -> Result<HttpResponse, ApiError> {
    let probe = async {
        if !shared::db::is_migrated(&pool).await? {
            anyhow::bail!("the schema is older than this program; run `skillet migrate`");
        }
        Ok(assets.probe().await?)
    };
    match timeout(PATIENCE, probe).await {
        Ok(Ok(())) => Ok(HttpResponse::Ok().body("ready")),
        Ok(Err(error)) => Err(ApiError::Unavailable(error)),
        Err(_) => Err(ApiError::Unavailable(anyhow::anyhow!(
            "no answer within {PATIENCE:?}"
        ))),
    }
}
