//! A file of hundreds of megabytes that is never in memory as a whole.

use std::io;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method};
use sha2::{Digest, Sha256};

use super::service_with;
use crate::support::{S3, Service, send};

/// The size of the file, unless `SKILLET_TEST_LARGE_MIB` sets another one.
const MEBIBYTES: u32 = 256;
/// The largest permitted growth of the API: the parts in transit, and socket buffers.
const GROWTH_KIB: u64 = 96 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_goes_to_the_bucket_and_back_in_flat_memory() {
    let Some(s3) = S3::start().await else { return };
    // The S3 server sends nothing while it copies, which may take minutes and is not an outage.
    let service = service_with(&s3, &[("AWS_READ_TIMEOUT", "600 seconds")]).await;
    // The first transfer allocates memory that is not growth.
    let warm = service.upload("warm.bin", super::noise(super::LARGE)).await;
    service.download(&warm).await;
    let before = peak_kib(&service);
    let size = std::env::var("SKILLET_TEST_LARGE_MIB");
    let size = size.map_or(MEBIBYTES, |size| size.parse().unwrap());

    let chunks = stream::iter(0..size).map(|number| io::Result::Ok(chunk(number)));
    let length = u64::from(size) << 20;
    let part = Part::stream_with_length(Body::wrap_stream(chunks), length).file_name("large.bin");
    let upload = service.request(Method::POST, "/v1/assets");
    let (status, asset) = send(upload.multipart(Form::new().part("file", part))).await;
    assert_eq!(
        (status.as_u16(), &asset["size"]),
        (201, &length.into()),
        "{asset}"
    );
    let uploaded = peak_kib(&service);

    let content = service.request(Method::GET, asset["content_url"].as_str().unwrap());
    let content = content.send().await.unwrap().error_for_status().unwrap();
    let hash = content
        .bytes_stream()
        .try_fold(Sha256::new(), async |hash, bytes| {
            Ok(hash.chain_update(&bytes))
        });
    let hash = hex::encode(hash.await.unwrap().finalize());
    assert_eq!(asset["sha256"], hash);
    let downloaded = peak_kib(&service);
    eprintln!(
        "{size} MiB: {before} KiB at its peak before, {uploaded} after the upload, {downloaded} after the download"
    );
    assert!(
        downloaded - before < GROWTH_KIB,
        "{before} KiB, then {downloaded} KiB"
    );
    assert_eq!(s3.unfinished().await, 0);
}

/// Returns a mebibyte that differs from all others.
fn chunk(number: u32) -> Bytes {
    let mut chunk = vec![number as u8; 1 << 20];
    chunk[..4].copy_from_slice(&number.to_be_bytes());
    chunk.into()
}

/// Returns the peak memory of the API.
fn peak_kib(service: &Service) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.api.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.unwrap().trim().trim_end_matches(" kB");
    peak.parse().unwrap()
}
