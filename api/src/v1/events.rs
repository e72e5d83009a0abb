//! `/v1/events`: the milestones of all jobs of a tenant.

mod filter;
mod list;
mod stream;
mod streamed;

pub(crate) use list::list_tenant_events;
pub(crate) use stream::stream_tenant_events;

use shared::db::feed::{EnableError, FeedState};
use shared::db::{self, Pool};
use shared::feed::FeedCursor;
use shared::id::TenantId;

use crate::problem::ApiError;

/// Returns the state of a tenant's feed. Enables the feed first if necessary, so that events are recorded from now
/// on.
pub(crate) async fn open(pool: &Pool, tenant: TenantId) -> Result<FeedState, ApiError> {
    let state = match db::feed::get_state(pool, tenant).await? {
        Some(state) => state,
        None => {
            db::feed::enable(pool, tenant).await.map_err(refusal)?;
            let state = db::feed::get_state(pool, tenant).await?;
            state.ok_or_else(|| ApiError::Unavailable(anyhow::anyhow!("the feed was cleared")))?
        }
    };
    if state.is_stale {
        db::feed::touch(pool, &[tenant]).await?;
    }
    Ok(state)
}

fn refusal(error: EnableError) -> ApiError {
    match error {
        EnableError::Database(error) => error.into(),
        held_up @ EnableError::HeldUp => ApiError::Unavailable(held_up.into()),
    }
}

/// Parses a cursor. Returns an error if events after it may be missing.
fn parse_cursor(name: &str, text: &str, state: &FeedState) -> Result<FeedCursor, ApiError> {
    let cursor: FeedCursor = text
        .parse()
        .map_err(|error| ApiError::Malformed(format!("`{name}` {error}")))?;
    if state.is_valid(cursor) {
        Ok(cursor)
    } else {
        Err(ApiError::CursorExpired)
    }
}
