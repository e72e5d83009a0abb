//! Deletion of blobs while the bucket is slow, and after a process died during it.

use futures_util::future::join_all;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Response};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{count, service};
use crate::support::{S3, Service, until};
use crate::uploaded_skills::archive::Tar;
use crate::uploaded_skills::uploaded;

/// More deletions than an API has database connections.
const DELETIONS: usize = 40;
const CONTENT: &[u8] = b"again";
const BEING_DELETED: &str = "select count(*) from blob_deletion";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn many_deletions_in_a_slow_bucket_hold_no_connection() {
    let Some(s3) = S3::start().await else { return };
    let mut service = service(&s3).await;
    let uploads = (0..DELETIONS).map(|number| service.upload("a.txt", format!("file {number}")));
    let assets = join_all(uploads).await;
    s3.pause();
    let deletions = assets.iter().map(|asset| delete(&service, asset));
    let deletions = tokio::spawn(join_all(Vec::from_iter(deletions)));
    let all = i64::try_from(DELETIONS).unwrap();
    until(async || count(&service, BEING_DELETED).await == all).await;
    // Without a free connection the response would be 503.
    assert_eq!(service.get("/v1/assets").await.0, 200);
    let open = "select count(*) from pg_stat_activity
                where datname = current_database() and state like 'idle in transaction%'";
    let locks = "select count(*) from pg_locks join pg_stat_activity as session using (pid)
                 where locktype = 'advisory' and session.datname = current_database()";
    until(async || count(&service, open).await + count(&service, locks).await == 0).await;
    s3.open();
    for deleted in deletions.await.unwrap() {
        assert_eq!(deleted.unwrap().status(), 204);
    }
    // Deletions that timed out on a slow machine are repeated.
    expire(&service).await;
    service.add_worker(&[]).await;
    until(async || count(&service, BEING_DELETED).await == 0).await;
    assert_eq!(s3.objects().await, ["some/prefix/probe"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn content_that_is_uploaded_again_while_it_is_deleted_is_there_in_the_end() {
    let Some(s3) = S3::start().await else { return };
    let service = service(&s3).await;
    let first = service.upload("a.txt", CONTENT).await;
    s3.pause();
    let deletion = tokio::spawn(delete(&service, &first));
    until(async || count(&service, BEING_DELETED).await == 1).await;
    let rolled_back =
        "select xact_rollback from pg_stat_database where datname = current_database()";
    let before = count(&service, rolled_back).await;
    let uploading = async {
        loop {
            let part = Part::bytes(CONTENT).file_name("b.txt");
            let upload = service.request(Method::POST, "/v1/assets");
            let answer = upload.multipart(Form::new().part("file", part)).send();
            let answer = answer.await.unwrap();
            if answer.status() == 201 {
                return answer.json::<Value>().await.unwrap();
            }
            // The deletion took longer than the upload waits for it.
            assert_eq!(answer.status(), 503);
        }
    };
    let opening = async {
        until(async || count(&service, rolled_back).await > before).await;
        assert_eq!(count(&service, "select count(*) from asset").await, 0);
        s3.open();
    };
    let (second, ()) = tokio::join!(uploading, opening);
    assert_eq!(deletion.await.unwrap().unwrap().status(), 204);
    assert_eq!(service.download(&second).await, CONTENT, "{second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_deletion_of_a_process_that_died_is_repeated() {
    let Some(s3) = S3::start().await else { return };
    let mut service = service(&s3).await;
    let (one, other) = (CONTENT, &b"once"[..]);
    for content in [one, other] {
        let asset = service.upload("a.txt", content).await;
        s3.pause();
        let deletion = tokio::spawn(delete(&service, &asset));
        let is_begun = async || deletions_of(&service, content).await == 1;
        until(is_begun).await;
        service.api.kill();
        assert!(deletion.await.unwrap().is_err(), "it was not answered");
        // The requests of the killed process are lost with its connections.
        s3.close().await;
        s3.open();
        service.restart_api();
    }
    assert_eq!(s3.objects().await.len(), 3, "both blobs and the probe");
    expire(&service).await;

    // The next upload of the content does not have to wait for maintenance.
    let again = service.upload("b.txt", one).await;
    assert_eq!(count(&service, BEING_DELETED).await, 1);
    service.add_worker(&[]).await;
    until(async || count(&service, BEING_DELETED).await == 0).await;
    until(async || s3.objects().await.len() == 2).await;
    assert_eq!(service.download(&again).await, one);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_skill_is_deleted_while_the_bucket_is_away() {
    let Some(s3) = S3::start().await else { return };
    let mut service = service(&s3).await;
    let text = "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n";
    let archive = Tar::default().file("greet/SKILL.md", text).gzip();
    uploaded(&service, archive).await;
    s3.close().await;
    let delete = async || {
        let request = service.request(Method::DELETE, "/v1/skills/greet");
        request.send().await.unwrap().status()
    };
    assert_eq!(delete().await, 204);
    assert_eq!(delete().await, 404);
    s3.open();
    expire(&service).await;
    service.add_worker(&[]).await;
    until(async || count(&service, BEING_DELETED).await == 0).await;
    until(async || s3.objects().await == ["some/prefix/probe"]).await;
}

async fn expire(service: &Service) {
    let expire = "update blob_deletion set expires_at = now() - interval '1 second'";
    sqlx::query(expire).execute(&service.pool).await.unwrap();
}

async fn deletions_of(service: &Service, content: &[u8]) -> i64 {
    let deletions = sqlx::query_scalar("select count(*) from blob_deletion where sha256 = $1");
    let hash = Sha256::digest(content);
    let deletions = deletions.bind(&hash[..]).fetch_one(&service.pool);
    deletions.await.unwrap()
}

fn delete(
    service: &Service,
    asset: &Value,
) -> impl Future<Output = reqwest::Result<Response>> + Send + use<> {
    let path = format!("/v1/assets/{}", asset["id"].as_str().unwrap());
    service.request(Method::DELETE, &path).send()
}
