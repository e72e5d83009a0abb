//! Generated clients: the programs of `examples/clients`.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::support::{Service, has_program, is_all_required};

/// What each of them prints, whatever its language.
const TOLD: [&str; 5] = [
    "job completed done",
    "tool ok",
    "tool ok",
    "output html sold.html <!doctype html><h1>Sold</h1><pre> spelt,4 rye,3 </pre>",
    "refused 422 invalid_request /prompt",
];

/// What `run` ends with where there is no registry of packages.
pub(super) const CANNOT_INSTALL: i32 = 69;

#[tokio::test]
async fn a_client_in_typescript_is_generated_and_compiles_and_works() {
    if has_program("npm") && has_program("node") {
        run("typescript").await;
    }
}

#[tokio::test]
async fn a_client_in_python_is_generated_and_works() {
    if has_program("python3") {
        run("python").await;
    }
}

async fn run(language: &str) {
    let service = Service::start().await;
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/clients");
    let output = Command::new(clients.join(language).join("run"))
        .args([&service.url, &service.key])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    if output.status.code() == Some(CANNOT_INSTALL) && !is_all_required() {
        eprintln!("left out: what the client is made with cannot be installed here");
        return;
    }
    let told = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{errors}");
    let lines: Vec<_> = told.lines().map(str::trim_end).collect();
    assert_eq!(lines, TOLD, "{errors}");
}
