//! The S3 server of tests, and the Python that runs it.

use std::ops::Deref;
use std::path::PathBuf;

use reqwest::Method;
use tests::s3::{PACKAGE, S3 as Server};
use tokio::sync::OnceCell;

use super::python::python_with;

static PYTHON: OnceCell<Option<PathBuf>> = OnceCell::const_new();

/// A Python with the server; `None` where it cannot be installed and may be left out.
pub(crate) async fn python_with_s3() -> Option<PathBuf> {
    let python = PYTHON.get_or_init(|| python_with("moto", &[PACKAGE]));
    python.await.clone()
}

/// An S3 service with the bucket `bucket`, behind a gate that a test can close.
pub(crate) struct S3(Server);

impl S3 {
    /// Starts it; `None` where it cannot be installed and may be left out.
    pub(crate) async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// The same, and each request after the first needs the credentials of a user whom nobody made.
    pub(crate) async fn start_locked() -> Option<Self> {
        Self::start_with(&[("INITIAL_NO_AUTH_ACTION_COUNT", "1")]).await
    }

    async fn start_with(environment: &[(&str, &str)]) -> Option<Self> {
        let python = python_with_s3().await?;
        Some(Self(Server::start(&python, environment).await.unwrap()))
    }

    /// Sends a request past the gate; the answer's text.
    pub(crate) async fn request(&self, method: Method, path: &str) -> String {
        self.0.request(method, path).await.unwrap()
    }

    /// The names of the bucket's objects.
    pub(crate) async fn objects(&self) -> Vec<String> {
        self.0.objects().await.unwrap()
    }

    /// How many uploads to the bucket have begun and not ended.
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
