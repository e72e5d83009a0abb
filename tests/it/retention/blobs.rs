//! Garbage collection of blobs.

use std::fs::{File, create_dir_all, write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::forget;
use crate::support::store::{begin_upload, stored};
use crate::support::{Service, bash, until};

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
        age_by_a_day(path);
    }
    sweep_next(&service, &first).await;
    forget(&mut service, &[]).await;
    until(async || !lost.exists()).await;
    assert!(known.exists() && new.exists() && elsewhere.exists());
}

#[tokio::test]
async fn what_a_killed_process_had_written_of_files_goes_when_it_is_a_day_old() {
    let mut service = Service::without_worker().await;
    let whole = service.upload("whole.txt", "whole").await;
    let whole = service.blob(&whole["sha256"]);
    let upload = begin_upload(&service).await;
    until(async || !stored(&service, "incoming").is_empty()).await;
    service.api.kill();
    drop(upload);
    service.restart_api();
    let [cut_off] = &stored(&service, "incoming")[..] else {
        panic!("it was killed in the middle of an upload")
    };
    // The storage library adds this suffix to the names of unfinished files.
    let name = cut_off.file_name().unwrap().to_str().unwrap();
    let (_, suffix) = name.split_once('#').unwrap();
    let beside = |path: &Path| PathBuf::from(format!("{}#{suffix}", path.display()));
    let later = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("true"), "run_at": "2999-01-01T00:00:00Z",
    });
    let later = service.create(&later).await;
    let workspace = |job: &str| service.home.path().join("assets/workspaces").join(job);
    let (kept, gone) = (
        workspace(&later),
        workspace("job_019aa0c45e8d70008000000000000000"),
    );
    for folder in [&kept, &gone] {
        create_dir_all(folder).unwrap();
    }
    let lost = [
        beside(&whole),
        beside(&kept.join("file")),
        beside(&gone.join("file")),
    ];
    let new = [beside(&whole.with_extension("new")), kept.join("file")];
    for path in lost.iter().chain(&new) {
        write(path, "cut off").unwrap();
    }
    for path in lost.iter().chain([cut_off, &whole, &kept.join("file")]) {
        age_by_a_day(path);
    }
    let folder = whole.parent().unwrap().file_name().unwrap();
    sweep_next(&service, folder.to_str().unwrap()).await;
    forget(&mut service, &[]).await;
    for path in lost.iter().chain([cut_off, &gone]) {
        until(async || !path.exists()).await;
    }
    for path in new.iter().chain([&whole]) {
        assert!(path.exists(), "{}", path.display());
    }
}

fn age_by_a_day(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    let past = SystemTime::now() - Duration::from_secs(25 * 3600);
    file.set_modified(past).unwrap();
}

/// Makes the next garbage collection start with this part of the asset store.
async fn sweep_next(service: &Service, part: &str) {
    let part = i32::from_str_radix(part, 16).unwrap();
    let next = sqlx::query("update maintenance set position = $1 where name = 'blob_gc'");
    next.bind(part + 255).execute(&service.pool).await.unwrap();
}

/// Stores a blob without a database row.
fn store(service: &Service, sha256: &str) -> PathBuf {
    let path = service.blob(&json!(sha256));
    create_dir_all(path.parent().unwrap()).unwrap();
    write(&path, "lost").unwrap();
    path
}

fn other(first: &str) -> String {
    if first == "00" { "01" } else { "00" }.to_owned()
}
