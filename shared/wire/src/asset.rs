//! Assets: stored bytes with a name, a media type, a size and a SHA-256.

mod output_kind;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

pub use output_kind::OutputKind;

use crate::id::AssetId;

/// A stored file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Asset {
    /// The identifier of the asset.
    pub id: AssetId,
    /// The file name, without directories.
    #[cfg_attr(feature = "openapi", schema(example = "chart.png"))]
    pub name: String,
    /// The media type, detected from the content, and from the name where the content is ambiguous.
    #[cfg_attr(feature = "openapi", schema(example = "image/png"))]
    pub content_type: String,
    /// The size in bytes.
    pub size: i64,
    /// The SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// When the file was stored.
    pub created_at: DateTime<Utc>,
    /// The path of the content, relative to the service.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "/v1/assets/019aa0c4-5e8d-7000-8000-000000000000/content")
    )]
    pub content_url: String,
}

impl Asset {
    /// Returns the path of an asset's content.
    pub fn content_url(id: AssetId) -> String {
        format!("/v1/assets/{id}/content")
    }
}
