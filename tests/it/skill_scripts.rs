//! The scripts of the built-in skills, on real files: the tests in `tests/skill_scripts` with the Python of jobs.

use std::path::Path;

use tokio::process::Command;

use crate::support::has_program;

const OFFICE: [&str; 3] = ["python3", "soffice", "pdftoppm"];

/// Runs the tests of one skill, which need some programs. What they print is shown if one fails.
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
