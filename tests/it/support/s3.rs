//! The S3 server of tests, and the Python environment that runs it.

use std::ops::Deref;
use std::path::PathBuf;

use reqwest::Method;
use tests::s3::{PACKAGE, S3 as Server};
use tokio::sync::OnceCell;

use super::python::python_with;

static PYTHON: OnceCell<Option<PathBuf>> = OnceCell::const_new();

/// Returns a Python with the server, or `None` if it cannot be installed and may be left out.
pub(crate) async fn python_with_s3() -> Option<PathBuf> {
    let python = PYTHON.get_or_init(|| python_with("moto", &[PACKAGE]));
    python.await.clone()
}

/// An S3 service with the bucket `bucket`, behind a gate that a test can close.
pub(crate) struct S3(Server);

impl S3 {
    /// Starts the server. Returns `None` if it cannot be installed and may be left out.
    pub(crate) async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// Starts the server so that each request after the first needs the credentials of a user who does not exist.
    pub(crate) async fn start_locked() -> Option<Self> {
        Self::start_with(&[("INITIAL_NO_AUTH_ACTION_COUNT", "1")]).await
    }

    async fn start_with(environment: &[(&str, &str)]) -> Option<Self> {
        let python = python_with_s3().await?;
        Some(Self(Server::start(&python, environment).await.unwrap()))
    }

    /// Sends a request that bypasses the gate, and returns the text of the response.
    pub(crate) async fn request(&self, method: Method, path: &str) -> String {
        self.0.request(method, path).await.unwrap()
    }

    /// Returns the names of the objects in the bucket.
    pub(crate) async fn objects(&self) -> Vec<String> {
        self.0.objects().await.unwrap()
    }

    /// Returns the number of unfinished uploads to the bucket.
    pub(crate) async fn unfinished(&self) -> usize {
        self.0.unfinished().await.unwrap()
    }
}

impl Deref for S3 {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
