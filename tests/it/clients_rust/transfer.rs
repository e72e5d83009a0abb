//! Uploads and downloads.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skillet_client::Error;
use tokio::time::sleep;

use super::client_of;
use super::proxy::{Fault, Proxy, Stop};
use crate::support::{Service, TIMEOUT, Terminal};

#[tokio::test]
async fn a_file_comes_back() {
    let service = Service::without_worker().await;
    let client = client_of(&service, &service.url);
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("brötchen 🥖.csv");
    let content = Vec::from_iter((0..=255_u8).cycle().take(256_000));
    fs::write(&source, &content).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let reported = seen.clone();
    let upload = client.upload(source.as_path());
    let upload = upload.on_progress(move |progress| reported.lock().unwrap().push(progress));
    let asset = upload.await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert!(
        seen.iter()
            .all(|it| it.total == 256_000 && it.name == "brötchen 🥖.csv")
    );
    assert!(seen.is_sorted_by_key(|it| it.sent) && seen.len() > 1);
    assert_eq!(seen.last().unwrap().sent, 256_000);
    let saved = folder.path().join("saved");
    fs::create_dir(&saved).unwrap();
    let path = client.download(&asset, &saved).await.unwrap();
    assert_eq!(path, saved.join("brötchen 🥖.csv"));
    let again = client.download(&asset, folder.path().join("again")).await;
    for path in [path, again.unwrap()] {
        assert_eq!(fs::read(path).unwrap(), content);
    }
    let empty = client.upload(("empty.txt", "")).await.unwrap();
    let path = client.download(&empty, folder.path()).await.unwrap();
    assert_eq!(fs::read(path).unwrap(), b"");
}

#[tokio::test]
async fn a_file_is_complete_or_as_it_was() {
    let service = Service::without_worker().await;
    let client = client_of(&service, &service.url);
    let asset = client.upload(("a.txt", "a".repeat(200_000))).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a.txt");
    fs::write(&target, "before").unwrap();
    let faults = [
        Fault::Replace("aaa", "aab"),
        Fault::Cut(70_000, Stop::Clean),
        Fault::Cut(70_000, Stop::Reset),
        Fault::Answer("410 Gone", "", ""),
    ];
    let proxy = Proxy::start(&service, "/content", faults).await;
    let disturbed = client_of(&service, &proxy.url);
    for number in 0..4 {
        let error = disturbed.download(&asset, &target).await.unwrap_err();
        let is_expected = match number {
            0 => matches!(error, Error::Checksum { .. }),
            1 | 2 => matches!(error, Error::Connection { .. }),
            _ => matches!(&error, Error::Service(it) if it.status == 410),
        };
        assert!(is_expected, "{number}: {error:?}");
        let names = fs::read_dir(folder.path()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a.txt"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "before");
    }
    disturbed.download(&asset, &target).await.unwrap();
    assert_eq!(fs::read(&target).unwrap().len(), 200_000);
}

#[tokio::test]
async fn forced_downloads_replace_a_file_only_when_they_are_complete() {
    let service = Service::without_worker().await;
    let client = client_of(&service, &service.url);
    let asset = client.upload(("a.txt", "a".repeat(200_000))).await.unwrap();
    let proxy = Proxy::start(&service, "/content", [Fault::Cut(70_000, Stop::Reset)]).await;
    let terminal = Terminal::new(&[
        ("SKILLET_URL", proxy.url.as_str()),
        ("SKILLET_API_KEY", service.key.as_str()),
    ]);
    let folder = terminal.folder.path();
    fs::write(folder.join("a.txt"), "before").unwrap();
    let id = asset.id.to_string();
    let failed = terminal.run(&["assets", "download", &id, "--force"]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(terminal.read("a.txt"), "before");
    let done = terminal.run(&["assets", "download", &id, "--force"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(terminal.read("a.txt").len(), 200_000);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

/// Returns the peak memory of a command in KiB.
async fn peak_of(terminal: &Terminal, arguments: &[&str]) -> u64 {
    let mut child = terminal.spawn(arguments);
    let status = format!("/proc/{}/status", child.id().unwrap());
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        assert!(tokio::time::Instant::now() < deadline);
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = kib.unwrap_or(0).max(peak);
        sleep(Duration::from_millis(2)).await;
    }
    assert!(child.wait().await.unwrap().success());
    peak
}

#[tokio::test]
async fn memory_does_not_grow_with_the_file() {
    const SIZE: usize = 100 * 1024 * 1024;
    let service = Service::without_worker().await;
    let terminal = Terminal::new(&[
        ("SKILLET_URL", service.url.as_str()),
        ("SKILLET_API_KEY", service.key.as_str()),
    ]);
    let folder = terminal.folder.path();
    fs::write(folder.join("large.bin"), vec![7; SIZE]).unwrap();
    let uploading = peak_of(&terminal, &["assets", "upload", "large.bin"]).await;
    let client = client_of(&service, &service.url);
    let assets: Vec<shared::asset::Asset> = client.list("/v1/assets", &[], None).await.unwrap();
    let id = assets[0].id.to_string();
    let downloading = peak_of(&terminal, &["assets", "download", &id, "-o", "copy"]).await;
    assert_eq!(
        fs::metadata(folder.join("copy/large.bin")).unwrap().len(),
        SIZE as u64
    );
    for peak in [uploading, downloading] {
        assert!(
            (1..60 * 1024).contains(&peak),
            "{uploading} and {downloading} KiB"
        );
    }
}
