//! Assets: stored bytes with a name, a media type, a size and a SHA-256.

mod bucket;
mod cleanup;
mod failure;
mod folder;
mod name;
mod staged;
mod store;
mod type_detection;
mod upload;
mod workspace_store;

pub use bucket::DownloadHeaders;
pub use failure::StoreError;
pub use name::file_name;
pub(crate) use name::is_invisible;
pub use skillet_wire::asset::{Asset, OutputKind};
pub use store::{AssetStore, BlobRange};
pub use type_detection::{HEAD_BYTES, content_type_of, is_textual};
pub use upload::{SealedUpload, Upload};
pub use workspace_store::WorkspaceStore;
