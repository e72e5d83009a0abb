//! The scripts of the built-in skills, on real files: the tests in `tests/skill_scripts` with the Python of jobs.

use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use crate::support::{Service, bash, has_program};

const OFFICE: [&str; 3] = ["python3", "soffice", "pdftoppm"];

/// Runs the tests of one skill, which need these programs. If a test fails, its output is shown.
async fn run(module: &str, programs: &[&str]) {
    if !programs.iter().all(|name| has_program(name)) {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("skill_scripts");
    let done = Command::new("/usr/bin/python3")
        .args(["-B", "-m", "unittest", module])
        .current_dir(folder)
        .output()
        .await
        .unwrap();
    let printed = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{module}: {printed}");
    assert!(!printed.contains("Ran 0 tests"), "{module}: {printed}");
}

/// Tests the tools `browse` and `crawl`.
#[tokio::test]
async fn browser() {
    run("test_browser", &["python3"]).await;
}

#[tokio::test]
async fn docx() {
    run("test_docx", &OFFICE).await;
}

#[tokio::test]
async fn pptx() {
    run("test_pptx", &OFFICE).await;
}

#[tokio::test]
async fn spreadsheet() {
    run("test_spreadsheet", &OFFICE).await;
}

#[tokio::test]
async fn pdf() {
    let programs = ["python3", "qpdf", "pdftoppm", "tesseract", "chromium"];
    run("test_pdf", &programs).await;
}

#[tokio::test]
async fn html() {
    run("test_html", &["python3", "chromium"]).await;
}

#[tokio::test]
async fn image() {
    run("test_image", &["python3", "fc-list"]).await;
}

/// Tests all skills that draw text, for characters without a glyph.
#[tokio::test]
async fn glyphs() {
    let programs = ["python3", "soffice", "pdftoppm", "chromium", "fc-list"];
    run("test_glyphs", &programs).await;
}

/// Tests the skills ffmpeg and media, which have the same scripts.
#[tokio::test]
async fn media() {
    run("test_media", &["python3", "ffmpeg", "ffprobe", "fc-list"]).await;
}

/// Tests the matching of related words and letters without an embedding service.
#[tokio::test]
async fn vectorstore() {
    run("test_vectorstore", &["python3", "pdftotext", "pandoc"]).await;
}

#[tokio::test]
async fn sqlite() {
    run("test_sqlite", &["python3"]).await;
}

#[tokio::test]
async fn git() {
    run("test_git", &["python3", "git"]).await;
}

#[tokio::test]
async fn document() {
    run(
        "test_document",
        &["python3", "pandoc", "soffice", "pdfinfo"],
    )
    .await;
}

/// A skill is a self-contained folder, so each one has a copy.
#[test]
fn the_copies_of_a_script_are_identical() {
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../skills");
    let copy = |skill: &str, name: &str| {
        let path = skills.join(skill).join("scripts").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    };
    for (name, first, others) in [
        ("office.py", "docx", &["pptx", "spreadsheet"][..]),
        (
            "glyphs.py",
            "docx",
            &["pptx", "spreadsheet", "html", "image", "ffmpeg", "media"],
        ),
    ] {
        let original = copy(first, name);
        for skill in others {
            assert!(
                copy(skill, name) == original,
                "skills/{skill}/scripts/{name} differs from the one of {first}: copy the file that you changed over \
                 the others"
            );
        }
    }
}

/// Runs scripts in a job, where the sandbox, its folders and its limits could interfere.
#[tokio::test]
async fn scripts_run_in_a_job() {
    if !OFFICE.iter().all(|name| has_program(name)) {
        return;
    }
    let service = Service::start().await;
    let make = "python3 - <<'E'\n\
        import sys\n\
        sys.path.insert(0, 'skill/scripts')\n\
        from house import Report\n\
        r = Report('Report')\n\
        r.heading('One')\n\
        r.text('Text')\n\
        r.save('made.docx')\n\
        E\n\
        skill/scripts/toc.py made.docx out.docx &&\n\
        skill/scripts/validate.py out.docx &&\n\
        skill/scripts/render.py out.docx --out pages && ls pages";
    let prompt = [bash(make), "output document: out.docx".to_owned()];
    let job = json!({"skill": "docx", "model": "script/bash", "prompt": prompt.join("\n")});
    let job = service.run(&job).await;
    let text = job["text"].as_str().unwrap();
    for part in [
        "1 entries on pages 1 to 1",
        "0 errors, 0 warnings",
        "sheet.png",
    ] {
        assert!(text.contains(part), "{job:#}");
    }
    assert_eq!(job["outputs"][0]["asset"]["name"], "out.docx", "{job:#}");
}
