//! Assets: stored bytes with a name, a media type, a size and a SHA-256.

mod bucket;
mod cleanup;
mod failure;
mod folder;
mod name;
mod output_kind;
mod staged;
mod store;
mod type_detection;
mod upload;
mod workspace_store;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use failure::StoreError;
pub use name::file_name;
pub(crate) use name::is_invisible;
pub use output_kind::OutputKind;
pub use store::{AssetStore, BlobRange};
pub use type_detection::{HEAD_BYTES, content_type_of};
pub use upload::{SealedUpload, Upload};
pub use workspace_store::WorkspaceStore;

use crate::id::AssetId;

/// A stored file as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Asset {
    /// The asset's identifier.
    pub id: AssetId,
    /// File name, without directories.
    #[schema(example = "chart.png")]
    pub name: String,
    /// Media type, by content rather than by claim.
    #[schema(example = "image/png")]
    pub content_type: String,
    /// Bytes.
    pub size: i64,
    /// SHA-256 of the content, hexadecimal.
    pub sha256: String,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
    /// The path of the content on the service.
    #[schema(example = "/v1/assets/019aa0c4-5e8d-7000-8000-000000000000/content")]
    pub content_url: String,
}

impl Asset {
    /// The path of an asset's content.
    pub fn content_url(id: AssetId) -> String {
        format!("/v1/assets/{id}/content")
    }
}
