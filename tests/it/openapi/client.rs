//! Generated clients: the programs of `examples/clients`.

use crate::support::{Service, has_program, run_script};

/// The output of each client, in any language.
const EXPECTED_OUTPUT: [&str; 5] = [
    "job completed done",
    "tool ok",
    "tool ok",
    "output html sold.html <!doctype html><h1>Sold</h1><pre> spelt,4 rye,3 </pre>",
    "refused 422 invalid_request /prompt",
];

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

#[tokio::test]
async fn a_client_in_go_is_generated_and_compiles_and_works() {
    if has_program("python3") && has_program("go") {
        run("go").await;
    }
}

#[tokio::test]
async fn a_client_in_java_is_generated_and_compiles_and_works() {
    if has_program("python3") && has_program("javac") {
        run("java").await;
    }
}

async fn run(language: &str) {
    let service = Service::start().await;
    let script = format!("examples/clients/{language}/run");
    let Some(told) = run_script(&service, &script, &[&service.url, &service.key]).await else {
        return;
    };
    let lines: Vec<_> = told.lines().map(str::trim_end).collect();
    assert_eq!(lines, EXPECTED_OUTPUT);
}
