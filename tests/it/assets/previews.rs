//! Previews of office documents: rendered after the job, displayed without scripts, deleted with their document.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Service, bash, has_program, until};

/// A document with two pages.
const LETTER: &str = r"{\rtf1\ansi Dear reader,\page best wishes.}";

fn can_render() -> bool {
    ["soffice", "pdfinfo", "pdftoppm"]
        .into_iter()
        .all(has_program)
}

/// Runs a job whose outputs are `letter.rtf` and a broken document.
async fn make(service: &Service) -> Value {
    let commands = format!(
        "printf '%s' '{LETTER}' > letter.rtf; printf 'PK\\x03\\x04no archive' > broken.docx"
    );
    let prompt = bash(&commands) + "\noutput: letter.rtf\noutput: broken.docx";
    let job = json!({"skill": "maker", "model": "script/bash", "prompt": prompt});
    let job = service.run(&job).await;
    assert_eq!(job["status"], "completed", "{job:#}");
    job
}

fn id_of(job: &Value, output: usize) -> String {
    job["outputs"][output]["asset"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Waits until the preview of a document is rendered or has failed.
async fn pages(service: &Service, asset: &str) -> Value {
    let mut pages = Value::Null;
    until(async || {
        pages = service.get(&format!("/v1/assets/{asset}/pages")).await.1;
        pages["status"] == "ready" || pages["status"] == "failed"
    })
    .await;
    pages
}

#[tokio::test]
async fn an_office_document_is_shown_as_pages_and_as_a_pdf_until_it_is_deleted() {
    if !can_render() {
        return;
    }
    let service = Service::with_maker().await;
    let job = make(&service).await;
    let letter = id_of(&job, 0);
    let found = pages(&service, &letter).await;
    assert_eq!(found["status"], "ready", "{found:#}");
    assert_eq!(found["total_pages"], 2);
    assert_eq!(found["pages"].as_array().unwrap().len(), 2);
    let page = &found["pages"][1];
    assert_eq!(page["number"], 2);
    assert_eq!(page["height"], 1600, "the longer edge");

    let get = |path: &str| service.request(Method::GET, path);
    let image = get(page["url"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(image.headers()["content-type"], "image/jpeg");
    assert_eq!(image.headers()["x-content-type-options"], "nosniff");
    let policy = image.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("sandbox;"), "{policy}");
    assert!(image.bytes().await.unwrap().starts_with(b"\xff\xd8\xff"));
    let pdf = get(found["pdf_url"].as_str().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(pdf.headers()["content-type"], "application/pdf");
    assert!(pdf.bytes().await.unwrap().starts_with(b"%PDF-"));
    for number in [0, 3, -1] {
        let (status, _) = service
            .get(&format!("/v1/assets/{letter}/pages/{number}"))
            .await;
        assert_eq!(status, 404, "{number}");
    }

    let hashes: Vec<String> =
        sqlx::query_scalar("select encode(sha256, 'hex') from preview_file order by page")
            .fetch_all(&service.pool)
            .await
            .unwrap();
    assert_eq!(hashes.len(), 3, "the PDF and two pages");
    let bytes = |hash: &String| service.blob(&json!(hash));
    assert!(hashes.iter().all(|hash| bytes(hash).exists()));
    let deletion = service.request(Method::DELETE, &format!("/v1/assets/{letter}"));
    assert_eq!(deletion.send().await.unwrap().status(), 204);
    assert!(!hashes.iter().any(|hash| bytes(hash).exists()));
    let (status, _) = service.get(&format!("/v1/assets/{letter}/pages")).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_document_that_cannot_be_rendered_says_why_and_is_not_tried_again() {
    if !can_render() {
        return;
    }
    let service = Service::with_maker().await;
    let job = make(&service).await;
    let broken = id_of(&job, 1);
    let found = pages(&service, &broken).await;
    assert_eq!(found["status"], "failed", "{found:#}");
    assert_eq!(found["reason"], "LibreOffice cannot read the document");
    assert_eq!(found["pages"], json!([]));
    let (status, _) = service.get(&format!("/v1/assets/{broken}/preview")).await;
    assert_eq!(status, 404);
    // No preview is left for another attempt.
    pages(&service, &id_of(&job, 0)).await;
    let pending: i64 = sqlx::query_scalar("select count(*) from preview where status = 'pending'")
        .fetch_one(&service.pool)
        .await
        .unwrap();
    assert_eq!(pending, 0);
}

#[tokio::test]
async fn a_rendering_that_a_worker_left_is_taken_over_and_given_up_after_three() {
    if !can_render() {
        return;
    }
    let service = Service::with_maker().await;
    let job = make(&service).await;
    let letter = id_of(&job, 0);
    pages(&service, &letter).await;
    // Simulate two and three workers that crashed while rendering.
    for (attempts, status) in [(2, "ready"), (3, "failed")] {
        sqlx::query(
            "update preview set status = 'pending', total_pages = null, attempt = $2, due_at = now()
             where asset_id = $1",
        )
        .bind(letter.parse::<shared::id::AssetId>().unwrap().0)
        .bind(attempts)
        .execute(&service.pool)
        .await
        .unwrap();
        let found = pages(&service, &letter).await;
        assert_eq!(found["status"], status, "{found:#}");
    }
}

#[tokio::test]
async fn without_a_worker_that_renders_the_preview_is_unavailable() {
    if !can_render() {
        return;
    }
    let mut service = Service::with_maker().await;
    let job = make(&service).await;
    let letter = id_of(&job, 0);
    pages(&service, &letter).await;
    service.workers.clear();
    sqlx::query("update worker set stopped_at = now()")
        .execute(&service.pool)
        .await
        .unwrap();
    sqlx::query("update preview set status = 'pending', total_pages = null, reason = null")
        .execute(&service.pool)
        .await
        .unwrap();
    let (_, found) = service.get(&format!("/v1/assets/{letter}/pages")).await;
    assert_eq!(found["status"], "unavailable", "{found:#}");
}
