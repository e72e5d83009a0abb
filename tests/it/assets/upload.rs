//! Uploads and their metadata.

use futures_util::stream;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::key::Scope;

use crate::support::problem::Problem;
use crate::support::{Service, create_key};

#[tokio::test]
async fn an_upload_says_what_was_stored_and_where() {
    let service = Service::without_worker().await;
    let form = Form::new().part(
        "file",
        Part::bytes(&b"a,b\n1,2\n"[..]).file_name("table.csv"),
    );
    let request = service.request(Method::POST, "/v1/assets").multipart(form);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 201);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let asset: Value = response.json().await.unwrap();
    insta::assert_json_snapshot!(asset, {".id" => "[id]", ".created_at" => "[time]", ".content_url" => "[url]"}, @r#"
    {
      "id": "[id]",
      "name": "table.csv",
      "content_type": "text/csv",
      "size": 8,
      "sha256": "492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470",
      "created_at": "[time]",
      "content_url": "[url]"
    }
    "#);
    assert_eq!(
        location,
        format!("/v1/assets/{}", asset["id"].as_str().unwrap())
    );
    assert_eq!(asset["content_url"], format!("{location}/content"));
    assert_eq!(
        service.get(&location).await,
        (200.try_into().unwrap(), asset)
    );
}

#[tokio::test]
async fn a_large_file_passes_through_in_both_directions_without_being_held() {
    let service = Service::without_worker().await;
    let before = service.api.resident_kilobytes();
    // All pieces differ, so a lost or repeated piece is detected.
    let piece = |number: u32| number.to_be_bytes().repeat(1 << 18);
    let mut hasher = Sha256::new();
    (0..64).for_each(|number| hasher.update(piece(number)));
    let sha256 = json!(hex::encode(hasher.finalize()));

    let mut stored = Vec::new();
    for name in ["first.bin", "again.bin"] {
        let pieces =
            stream::iter((0..64).map(move |number| Ok::<_, std::io::Error>(piece(number))));
        let part = Part::stream(Body::wrap_stream(pieces)).file_name(name);
        let request = service.request(Method::POST, "/v1/assets");
        let response = request
            .multipart(Form::new().part("file", part))
            .send()
            .await
            .unwrap();
        let asset: Value = response.json().await.unwrap();
        assert_eq!(
            (&asset["size"], &asset["sha256"]),
            (&json!(64 << 20), &sha256),
            "{asset:#}"
        );
        stored.push(asset);
    }
    assert_ne!(stored[0]["id"], stored[1]["id"]);

    let path = stored[0]["content_url"].as_str().unwrap();
    let mut response = service.request(Method::GET, path).send().await.unwrap();
    let mut hasher = Sha256::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        hasher.update(chunk);
    }
    assert_eq!(json!(hex::encode(hasher.finalize())), sha256);
    let grown = service.api.resident_kilobytes().saturating_sub(before);
    assert!(grown < 48 * 1024, "it was held: {grown} KB");
    // The same bytes are stored once, and no temporary file is left.
    let incoming = service.home.path().join("assets/incoming");
    assert_eq!(std::fs::read_dir(incoming).unwrap().count(), 0);
}

#[tokio::test]
async fn a_name_is_made_plain_and_the_content_tells_the_type() {
    let service = Service::without_worker().await;
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let cases: [(&str, &[u8], &str, &str); 9] = [
        ("../../etc/passwd", b"root", "passwd", "text/plain"),
        ("C:\\temp\\a b.csv", b"a,b\n", "a b.csv", "text/csv"),
        ("größe 図.png", png, "größe 図.png", "image/png"),
        ("..", b"x", "file", "text/plain"),
        ("-rf", b"x", "rf", "text/plain"),
        ("page.html", b"no page", "page.html", "text/plain"),
        ("notes.txt", b"<!doctype html><p>", "notes.txt", "text/html"),
        (
            "movie.mp4",
            b"\0\x01\x02\x03",
            "movie.mp4",
            "application/octet-stream",
        ),
        ("empty.json", b"", "empty.json", "application/json"),
    ];
    for (claimed, content, name, content_type) in cases {
        let asset = service.upload(claimed, content).await;
        assert_eq!(
            (&asset["name"], &asset["content_type"]),
            (&json!(name), &json!(content_type)),
            "{claimed}"
        );
        assert_eq!(service.download(&asset).await, content, "{claimed}");
    }
}

/// The forms that browsers and curl send, and the form of RFC 5987.
#[tokio::test]
async fn a_name_that_is_not_ascii_is_understood_in_both_forms() {
    let service = Service::without_worker().await;
    for disposition in [
        "form-data; name=\"file\"; filename=\"größe.txt\"",
        "form-data; name=\"file\"; filename*=utf-8''gr%C3%B6%C3%9Fe.txt",
        "form-data; name=\"file\"; filename=\"groesse.txt\"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt",
    ] {
        let body = format!("--b\r\nContent-Disposition: {disposition}\r\n\r\nx\r\n--b--\r\n");
        let request = service.request(Method::POST, "/v1/assets").body(body);
        let request = request.header("Content-Type", "multipart/form-data; boundary=b");
        let asset: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(asset["name"], "größe.txt", "{disposition}");
    }
}

/// Forms that browsers send, including pages with legacy encodings.
#[tokio::test]
async fn a_name_that_no_standard_allows_is_understood_as_its_browser_meant_it() {
    let service = Service::without_worker().await;
    let cases: [(&[u8], &str); 4] = [
        (b"gr\xf6\xdfe.txt", "gr\u{f6}\u{df}e.txt"),
        (b"C:\\Users\\x\\doc.txt", "doc.txt"),
        (b"a\\b.txt", "b.txt"),
        (b"a %22b%22.txt", "a \"b\".txt"),
    ];
    for (claimed, name) in cases {
        let start = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"";
        let body = [start, claimed, b"\"\r\n\r\nx\r\n--b--\r\n"].concat();
        let request = service.request(Method::POST, "/v1/assets").body(body);
        let request = request.header("Content-Type", "multipart/form-data; boundary=b");
        let asset: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(asset["name"], name, "{asset}");
    }
}

#[tokio::test]
async fn a_removed_file_is_gone_and_so_are_its_bytes() {
    let service = Service::without_worker().await;
    let [one, two] = [
        service.upload("a.txt", "same").await,
        service.upload("b.txt", "same").await,
    ];
    let path = format!("/v1/assets/{}", one["id"].as_str().unwrap());
    let response = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(response.status(), 204);
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::GET, format!("{path}/content")),
        (Method::DELETE, path),
    ] {
        let gone = Problem::of(service.request(method, &path)).await;
        assert_eq!(gone.kind(), (404, "not_found"), "{path}");
    }
    assert_eq!(service.download(&two).await, b"same");
    let path = format!("/v1/assets/{}", two["id"].as_str().unwrap());
    service.request(Method::DELETE, &path).send().await.unwrap();
    assert!(!service.blob(&two["sha256"]).exists());
    // The same bytes can be uploaded again.
    let again = service.upload("c.txt", "same").await;
    assert_eq!(service.download(&again).await, b"same");
}

#[tokio::test]
async fn a_file_of_another_tenant_is_not_there() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", "mine").await;
    let other_key = create_key(&service.pool, "other", &[Scope::Jobs, Scope::Admin]).await;
    let path = format!("/v1/assets/{}", asset["id"].as_str().unwrap());
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::GET, format!("{path}/content")),
        (Method::DELETE, path),
    ] {
        let request = service.anonymous(method, &path).bearer_auth(&other_key);
        assert_eq!(
            Problem::of(request).await.kind(),
            (404, "not_found"),
            "{path}"
        );
    }
    assert_eq!(service.download(&asset).await, b"mine");
}
