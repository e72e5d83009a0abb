//! A bucket of another S3 server that verifies the signature of each request.

use reqwest::{Client, Method, redirect};
use serde_json::{Value, json};

use super::{LARGE, assert_downloads, log_of_failed_start, noise, service_at};
use crate::support::{Service, VerifyingS3, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_parts_ranges_outputs_and_deletions_pass_a_server_that_verifies_signatures() {
    let s3 = VerifyingS3::start().await;
    let mut service = service_at(s3.environment(), &[]).await;
    service.add_worker(&[]).await;
    let content = noise(LARGE);
    let asset = service.upload("a b+\u{e9}.bin", content.clone()).await;
    assert_downloads(&service, &asset, &content).await;
    let job = json!({
        "skill": "maker", "model": "script/bash", "inputs": [{"asset_id": asset["id"]}],
        "prompt": "```bash\nbase64 a*.bin > b.txt\n```\noutput: b.txt",
    });
    let job = service.run(&job).await;
    let [output] = &job["outputs"].as_array().unwrap()[..] else {
        panic!("{job:#}\n{}", service.logs())
    };
    let output = service.download(&output["asset"]).await;
    assert!(output.len() > LARGE * 4 / 3, "{}", output.len());

    assert!(s3.has(&asset));
    let path = format!("/v1/assets/{}", asset["id"].as_str().unwrap());
    let deleted = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    until(async || !s3.has(&asset)).await;
    assert!(!service.logs().contains(" ERROR "), "{}", service.logs());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_presigned_url_opens_its_file_and_no_other() {
    let s3 = VerifyingS3::start().await;
    let presigned = [("SKILLET_PRESIGNED_DOWNLOADS", "true")];
    let service = service_at(s3.environment(), &presigned).await;
    let asset = service.upload("a b+\u{e9}.html", &b"<p>one"[..]).await;
    let other = service.upload("b.html", &b"<p>two"[..]).await;
    let location = presigned_url(&service, asset["content_url"].as_str().unwrap()).await;
    let content = Client::new().get(&location).send().await.unwrap();
    assert_eq!(content.status(), 200, "{location}");
    assert_eq!(content.headers()["content-type"], "text/html");
    assert_eq!(content.bytes().await.unwrap(), &b"<p>one"[..]);
    let changed = [
        location.replace(&path_of(&asset), &path_of(&other)),
        location.replace("X-Amz-Expires=300", "X-Amz-Expires=3000"),
        location.replace("text%2Fhtml", "text%2Fplain"),
    ];
    for changed in changed {
        assert_ne!(changed, location);
        let refused = Client::new().get(&changed).send().await.unwrap();
        assert_eq!(refused.status(), 403, "{changed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_secret_is_told_at_the_start_and_not_printed() {
    let s3 = VerifyingS3::start().await;
    let service = Service::without_worker().await;
    let home = service.home.path().join("home");
    let mut environment = s3.environment();
    environment.extend([
        ("AWS_SECRET_ACCESS_KEY", "not-the-secret".to_owned()),
        ("DATABASE_URL", service.database_url.clone()),
        ("SKILLET_DATA_DIR", home.display().to_string()),
    ]);
    let log = log_of_failed_start(environment, &home).await;
    assert!(log.contains("SignatureDoesNotMatch"), "{log}");
    assert!(
        log.contains("check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"),
        "{log}"
    );
    assert!(!log.contains("not-the-secret"), "{log}");
}

/// Returns the path of an asset in the bucket.
fn path_of(asset: &Value) -> String {
    let sha256 = asset["sha256"].as_str().unwrap();
    format!("{}/{sha256}", &sha256[..2])
}

/// Returns the URL to which a download is redirected.
async fn presigned_url(service: &Service, path: &str) -> String {
    let client = Client::builder().redirect(redirect::Policy::none());
    let request = client
        .build()
        .unwrap()
        .get(format!("{}{path}", service.url));
    let redirect = request.bearer_auth(&service.key).send().await.unwrap();
    redirect.headers()["location"].to_str().unwrap().to_owned()
}
