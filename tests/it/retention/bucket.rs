//! Retention of files in a bucket.

use serde_json::json;

use super::{age, forget};
use crate::support::{S3, Service, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_files_of_an_expired_job_go_from_the_bucket() {
    let Some(s3) = S3::start().await else { return };
    let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
    let mut environment = s3.environment("bucket");
    environment.push(("SKILLET_SKILLS_DIR", skills.to_owned()));
    let environment = environment.iter();
    let environment: Vec<_> = environment.map(|(name, value)| (*name, &**value)).collect();
    let mut service = Service::with_environment(&environment).await;
    service.add_worker(&[]).await;
    let body = json!({
        "skill": "maker", "model": "script/bash",
        "prompt": "```bash\necho one > a.txt\n```\noutput document: a.txt",
    });
    let (old, young) = (service.run(&body).await, service.run(&body).await);
    let other = json!({
        "skill": "maker", "model": "script/bash",
        "prompt": "```bash\necho two > b.txt\n```\noutput document: b.txt",
    });
    let own = service.run(&other).await;
    let blob = |job: &serde_json::Value| {
        let sha256 = job["outputs"][0]["asset"]["sha256"].as_str().unwrap();
        format!("some/prefix/sha256/{}/{sha256}", &sha256[..2])
    };
    assert_eq!(blob(&old), blob(&young), "the same content is stored once");
    let mut all = vec!["some/prefix/probe".to_owned(), blob(&old), blob(&own)];
    all.sort();
    until(async || s3.objects().await == all).await;
    for job in [&old, &own] {
        age(&service, job["id"].as_str().unwrap(), 31).await;
    }
    forget(&mut service, &[]).await;
    // A blob that another job still has is kept.
    let left = ["some/prefix/probe".to_owned(), blob(&young)];
    until(async || s3.objects().await == left).await;
    service.download(&young["outputs"][0]["asset"]).await;
}
