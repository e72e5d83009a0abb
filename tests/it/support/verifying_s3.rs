//! An S3 server that verifies the signature of each request, and keeps its objects in a folder.

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

const KEY_ID: &str = "key-id";
const SECRET: &str = "the secret of the bucket";

/// The server, with the bucket `bucket`. It ends when this value is dropped.
pub(crate) struct VerifyingS3 {
    url: String,
    root: TempDir,
    _server: AbortOnDropHandle<()>,
}

impl VerifyingS3 {
    /// Starts the server in this process.
    pub(crate) async fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("bucket")).unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(root.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY_ID, SECRET));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            root,
            _server: AbortOnDropHandle::new(tokio::spawn(serve(listener, builder.build()))),
        }
    }

    /// Whether the server has the content of an asset.
    pub(crate) fn has(&self, asset: &Value) -> bool {
        let sha256 = asset["sha256"].as_str().unwrap();
        let object = format!("bucket/some/prefix/sha256/{}/{sha256}", &sha256[..2]);
        self.root.path().join(object).exists()
    }

    /// Returns the variables that make a service keep its assets in the bucket.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("SKILLET_ASSETS", "s3://bucket/some/prefix".to_owned()),
            ("AWS_ENDPOINT", self.url.clone()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY_ID.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }
}

async fn serve(listener: TcpListener, service: S3Service) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let service = service.clone();
        connections.spawn(async move {
            let http = Builder::new(TokioExecutor::new());
            // A client may disconnect at any time.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}
