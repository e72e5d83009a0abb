use std::fs::{File, create_dir_all, write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::forget;
use crate::support::{Service, until};

#[tokio::test]
async fn bytes_that_nobody_knows_of_go_when_they_are_a_day_old() {
    let mut service = Service::without_worker().await;
    let known = service.upload("known.txt", "known").await;
    let known = service.blob(&known["sha256"]);
    let first = known
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let [lost, new, elsewhere] = ["aa", "bb", "cc"].map(|end| {
        let first = if end == "cc" {
            other(&first)
        } else {
            first.clone()
        };
        store(&service, &format!("{first}{}", end.repeat(31)))
    });
    for path in [&known, &lost, &elsewhere] {
        let file = File::options().write(true).open(path).unwrap();
        let past = SystemTime::now() - Duration::from_secs(25 * 3600);
        file.set_modified(past).unwrap();
    }
    // The part of the store in which they are is the next.
    let part = i32::from_str_radix(&first, 16).unwrap();
    let next = sqlx::query("update chore set position = $1 where name = 'blobs'");
    next.bind(part + 255).execute(&service.pool).await.unwrap();
    forget(&mut service, &[]).await;
    until(async || !lost.exists()).await;
    assert!(known.exists() && new.exists() && elsewhere.exists());
}

/// Bytes without a row.
fn store(service: &Service, sha256: &str) -> PathBuf {
    let path = service.blob(&json!(sha256));
    create_dir_all(path.parent().unwrap()).unwrap();
    write(&path, "lost").unwrap();
    path
}

fn other(first: &str) -> String {
    if first == "00" { "01" } else { "00" }.to_owned()
}
