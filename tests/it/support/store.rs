//! The folder of a service's asset store, and unfinished uploads.

use std::path::PathBuf;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::Service;

const MIB: usize = 1024 * 1024;

/// Starts the upload of a large file, and sends only a part of it.
pub(crate) async fn begin_upload(service: &Service) -> TcpStream {
    let address = service.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/assets HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\r\n\
         --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n",
        service.key,
        64 * MIB
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(&vec![7; 12 * MIB]).await.unwrap();
    connection
}

/// Checks that the asset store contains only its probe file.
pub(crate) fn assert_stores_nothing(service: &Service) {
    let probe = service.home.path().join("assets/probe");
    assert_eq!(stored(service, ""), [probe]);
}

/// Returns the files below a folder of the asset store.
pub(crate) fn stored(service: &Service, folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![service.home.path().join("assets").join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                &mut folders
            } else {
                &mut files
            }
            .push(path);
        }
    }
    files
}
