//! Assets: stored bytes with a name, a media type, a size and a SHA-256.

mod output_kind;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

pub use output_kind::OutputKind;

use crate::id::AssetId;

/// A stored file as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Asset {
    /// The asset's identifier.
    pub id: AssetId,
    /// File name, without directories.
    #[cfg_attr(feature = "openapi", schema(example = "chart.png"))]
    pub name: String,
    /// Media type, by content rather than by claim.
    #[cfg_attr(feature = "openapi", schema(example = "image/png"))]
    pub content_type: String,
    /// Bytes.
    pub size: i64,
    /// SHA-256 of the content, hexadecimal.
    pub sha256: String,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
    /// The path of the content on the service.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "/v1/assets/019aa0c4-5e8d-7000-8000-000000000000/content")
    )]
    pub content_url: String,
}

impl Asset {
    /// The path of an asset's content.
    pub fn content_url(id: AssetId) -> String {
        format!("/v1/assets/{id}/content")
    }
}
