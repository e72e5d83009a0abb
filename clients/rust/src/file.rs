//! Input files of a job.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skillet_wire::asset::Asset;
use skillet_wire::id::AssetId;

/// A file to upload.
#[derive(Clone, Debug)]
pub enum UploadFile {
    /// A local file, which is read while it is sent.
    Path(PathBuf),
    /// Content in memory.
    Bytes {
        /// The file name.
        name: String,
        /// The content.
        content: Arc<[u8]>,
    },
}

/// An input file of a job.
#[derive(Clone, Debug)]
pub enum InputFile {
    /// A file that the client uploads.
    Upload(UploadFile),
    /// A URL that the service fetches.
    Url(String),
    /// An existing asset of the service.
    Asset(AssetId),
}

impl From<&Path> for UploadFile {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

impl From<PathBuf> for UploadFile {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<&PathBuf> for UploadFile {
    fn from(path: &PathBuf) -> Self {
        Self::Path(path.clone())
    }
}

impl From<&str> for UploadFile {
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

impl<N: Into<String>, C: AsRef<[u8]>> From<(N, C)> for UploadFile {
    fn from((name, content): (N, C)) -> Self {
        Self::Bytes {
            name: name.into(),
            content: content.as_ref().into(),
        }
    }
}

impl From<UploadFile> for InputFile {
    fn from(file: UploadFile) -> Self {
        Self::Upload(file)
    }
}

impl From<&Path> for InputFile {
    fn from(path: &Path) -> Self {
        Self::Upload(path.into())
    }
}

impl From<PathBuf> for InputFile {
    fn from(path: PathBuf) -> Self {
        Self::Upload(path.into())
    }
}

impl From<&str> for InputFile {
    /// Converts an `http` or `https` URL to [`InputFile::Url`], and any other text to a path.
    fn from(text: &str) -> Self {
        if text.starts_with("http://") || text.starts_with("https://") {
            Self::Url(text.to_owned())
        } else {
            Self::Upload(text.into())
        }
    }
}

impl<N: Into<String>, C: AsRef<[u8]>> From<(N, C)> for InputFile {
    fn from(named: (N, C)) -> Self {
        Self::Upload(named.into())
    }
}

impl From<&Asset> for InputFile {
    fn from(asset: &Asset) -> Self {
        Self::Asset(asset.id)
    }
}

impl From<AssetId> for InputFile {
    fn from(asset: AssetId) -> Self {
        Self::Asset(asset)
    }
}
