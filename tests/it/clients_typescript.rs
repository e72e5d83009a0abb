//! The TypeScript client: its own tests against a service.

use std::path::Path;
use std::process::{Output, Stdio};

use tokio::process::Command;

use crate::support::{Service, has_program, is_all_required};

#[tokio::test]
async fn the_client_for_typescript_is_built_and_passes_its_tests() {
    if !has_program("npm") || !has_program("node") {
        return;
    }
    let service = Service::start().await;
    let install = [
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ];
    let installed = npm(&service, &install).await;
    if !installed.status.success() && !is_all_required() {
        eprintln!("left out: what the client is built with cannot be installed here");
        return;
    }
    assert_succeeded(&installed);
    assert_succeeded(&npm(&service, &["test"]).await);
    assert_succeeded(&npm(&service, &["run", "check"]).await);
}

async fn npm(service: &Service, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/typescript");
    let mut command = Command::new("npm");
    command
        .args(arguments)
        .current_dir(folder)
        .env("SKILLET_URL", &service.url)
        .env("SKILLET_API_KEY", &service.key)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command.output().await.unwrap()
}

fn assert_succeeded(output: &Output) {
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
}
