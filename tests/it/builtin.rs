//! Built-in skills with real programs. Other programs check their outputs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::{Service, Terminal, bash, has_program};

/// Reads the width and the height from the header of a PNG (ISO/IEC 15948, section 11.2.2).
fn png_size(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[tokio::test]
async fn the_demo_leaves_a_chart_and_a_report() {
    if !has_program("python3") {
        return;
    }
    let service = Service::start().await;
    let folder = tempfile::tempdir().unwrap();
    let opened = folder.path().join("opened");
    let browser = folder.path().join("browser");
    std::fs::write(
        &browser,
        format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display()),
    )
    .unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let terminal = Terminal::new(&[
        ("SKILLET_URL", &service.url),
        ("SKILLET_API_KEY", &service.key),
        ("BROWSER", browser.to_str().unwrap()),
    ]);
    let demo = ["demo", "-o", folder.path().to_str().unwrap()];
    let ran = terminal.run(&demo).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let index = folder.path().join("index.html");
    assert!(
        ran.out.ends_with(&format!("Opened {}\n", index.display())),
        "{ran:?}"
    );
    assert_eq!(
        std::fs::read_to_string(&opened).unwrap().trim(),
        index.to_str().unwrap()
    );
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(png_size(&read("sales.png")), (1200, 680));
    let report = String::from_utf8(read("report.html")).unwrap();
    // The total of the year, which is also in the text of the first job.
    assert!(report.contains("161,006") && ran.out.contains("161006"));
    assert!(report.contains("<svg") && !report.contains("src=\"http"));
}

#[tokio::test]
async fn sqlite_reads_a_database_and_gives_its_answer_as_a_file() {
    if !has_program("sqlite3") {
        return;
    }
    let service = Service::start().await;
    let prompt = [
        bash(
            "sqlite3 made.db \"create table t (n, name); insert into t values (1, 'a'), (2, 'b')\"",
        ),
        bash("sqlite3 -readonly -json made.db 'select * from t order by n' > rows.json"),
        bash("! sqlite3 -readonly made.db 'delete from t' 2>&1"),
        "output document: rows.json".to_owned(),
    ];
    let job = json!({"skill": "sqlite", "model": "script/bash", "prompt": prompt.join("\n")});
    let job = service.run(&job).await;
    assert!(
        job["text"].as_str().unwrap().contains("readonly database"),
        "{job:#}"
    );
    let output = &job["outputs"][0];
    assert_eq!(output["asset"]["content_type"], "application/json");
    let rows: Value = serde_json::from_slice(&service.download(&output["asset"]).await).unwrap();
    assert_eq!(rows, json!([{"n": 1, "name": "a"}, {"n": 2, "name": "b"}]));
}

#[tokio::test]
async fn image_turns_a_picture_into_another() {
    if !has_program("identify") {
        return;
    }
    let service = Service::start().await;
    let photo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/rolls.jpg");
    let photo = STANDARD.encode(std::fs::read(photo).unwrap());
    let prompt = format!(
        "{}\noutput image: small.png",
        bash(
            "IM=$(command -v magick || command -v convert); \"$IM\" rolls.jpg -resize 90x60! small.png"
        )
    );
    let job = service
        .run(&json!({
            "skill": "image", "model": "script/bash", "prompt": prompt,
            "inputs": [{"name": "rolls.jpg", "data": photo}],
        }))
        .await;
    let made = service.download(&job["outputs"][0]["asset"]).await;
    assert_eq!(png_size(&made), (90, 60));
}
