//! Cleanup after rejected, abandoned and interrupted uploads.

use serde_json::json;
use tests::model_server::Reply;

use crate::support::store::{begin_upload, stored};
use crate::support::{Service, until};

#[tokio::test]
async fn a_refused_output_leaves_no_bytes() {
    let service = Service::with_maker().await;
    // A file that is larger than one write, a file that is larger than an output may be, and an empty file.
    let make = "head -c 6000000 /dev/zero > a.bin; truncate -s 101M large.bin; touch empty.txt";
    let give = |path: &str| ("set_output".to_owned(), json!({"path": path}));
    let calls = [
        ("shell.exec".to_owned(), json!({"command": make})),
        give("empty.txt"),
        give("large.bin"),
        give("a.bin"),
    ];
    let reply = calls
        .into_iter()
        .fold(Reply::text("I give."), |reply, (tool, input)| {
            reply.then_call(&tool, input)
        });
    service
        .model
        .script("refused", [reply, Reply::text("done")]);
    let job = json!({"skill": "maker", "model": "anthropic/m", "prompt": "Go. #refused"});
    let job = service.run(&job).await;
    assert_eq!(job["outputs"].as_array().unwrap().len(), 1, "{job:#}");
    assert!(stored(&service, "incoming").is_empty());
    let blobs = stored(&service, "sha256");
    assert_eq!(blobs, [service.blob(&job["outputs"][0]["asset"]["sha256"])]);
}

#[tokio::test]
async fn an_upload_whose_client_hangs_up_leaves_no_bytes() {
    let service = Service::without_worker().await;
    let connection = begin_upload(&service).await;
    until(async || !stored(&service, "incoming").is_empty()).await;
    drop(connection);
    until(async || stored(&service, "incoming").is_empty()).await;
    assert!(stored(&service, "sha256").is_empty());
}
