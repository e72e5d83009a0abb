//! Retention of uploads.

use serde_json::{Value, json};

use super::{age, asset_path, forget, is_gone};
use crate::support::{Service, bash, scripted, until};
use shared::id::{AssetId, JobId};
use tests::model_server::Reply;

#[tokio::test]
async fn an_upload_goes_when_no_job_has_begun_with_it_for_long() {
    let mut service = Service::start().await;
    let [unused, used, held] = ["unused", "used", "held"].map(|name| (name, format!("{name}.txt")));
    let unused = service.upload(&unused.1, unused.0).await;
    let used = service.upload(&used.1, used.0).await;
    let held = service.upload(&held.1, held.0).await;
    let later = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("cat held.txt"), "run_at": "2126-01-01T00:00:00Z",
        "inputs": [{"asset_id": held["id"]}],
    });
    let later = service.create(&later).await;
    age(&service, &later, 50).await;
    let past = sqlx::query("update asset set used_at = used_at - interval '40 days'");
    past.execute(&service.pool).await.unwrap();
    let now = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("cat used.txt"), "inputs": [{"asset_id": used["id"]}],
    });
    assert_eq!(service.run(&now).await["text"], "used");

    forget(&mut service, &[("SKILLET_UPLOAD_RETENTION", "50d")]).await;
    assert!(!is_gone(&service, &asset_path(&unused)).await);
    forget(&mut service, &[]).await;
    assert!(is_gone(&service, &asset_path(&unused)).await);
    until(async || !service.blob(&unused["sha256"]).exists()).await;
    assert_eq!(service.download(&used).await, b"used");
    assert_eq!(service.download(&held).await, b"held");
}

/// A worker that was superseded between an upload and the event that announces it leaves an invisible row.
#[tokio::test]
async fn what_a_superseded_worker_uploaded_is_never_seen_and_goes() {
    let mut service = Service::start().await;
    service.model.script("busy", [Reply::stall()]);
    let job = service
        .create(&scripted("anthropic/claude-test", "busy"))
        .await;
    service.model.stalled("busy").await;
    let superseded = unannounced(&service, &job, "superseded").await;
    let own = unannounced(&service, &job, "own").await;
    // The current lease began after one of the uploads and before the other.
    let past = "update run set claimed_at = now() - interval '2 hours'";
    sqlx::query(past).execute(&service.pool).await.unwrap();
    for (asset, hours) in [(&superseded, 3), (&own, 1)] {
        let past = "update asset set created_at = now() - $2 * interval '1 hour' - interval '1 minute' where id = $1";
        let past = sqlx::query(past).bind(id(asset)).bind(hours);
        past.execute(&service.pool).await.unwrap();
    }
    for asset in [&superseded, &own] {
        assert!(is_gone(&service, &asset_path(asset)).await);
        assert!(service.blob(&asset["sha256"]).exists());
    }
    forget(&mut service, &[]).await;
    until(async || !service.blob(&superseded["sha256"]).exists()).await;
    assert!(service.blob(&own["sha256"]).exists());
    let left = sqlx::query_scalar("select id from asset where not visible");
    let left: Vec<AssetId> = left.fetch_all(&service.pool).await.unwrap();
    assert_eq!(left, [id(&own)]);
    service.model.release("busy");
}

/// Creates a file that the job's worker has uploaded and not announced yet.
async fn unannounced(service: &Service, job: &str, content: &str) -> Value {
    let asset = service.upload("made.txt", content).await;
    let hide = "update asset set visible = false, job_id = $2 where id = $1";
    let hide = sqlx::query(hide)
        .bind(id(&asset))
        .bind(job.parse::<JobId>().unwrap());
    hide.execute(&service.pool).await.unwrap();
    asset
}

fn id(asset: &Value) -> AssetId {
    asset["id"].as_str().unwrap().parse().unwrap()
}
