//! Uploaded skills: versions, jobs, and hostile archives.

pub(crate) mod archive;
mod claimed;
mod job;
mod packages;
mod pinned;
mod portable;
mod refused;
mod stored;
mod terminal;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::support::{Service, bash};
use archive::Tar;

/// Returns the text of a skill `greet` with more front matter and these instructions.
fn greet(more: &str, instructions: &str) -> String {
    format!(
        "---\nname: greet\ndescription: Greets.\nallowed-tools: shell.exec\n{more}---\n{instructions}\n"
    )
}

/// Returns the archive of a skill `greet` whose script greets with this word.
fn greeting(word: &str) -> Vec<u8> {
    let script = format!("#!/bin/bash\necho {word} $1, says $(cat skill/assets/who.txt)\n");
    Tar::default()
        .folder("greet/")
        .file("greet/SKILL.md", greet("", "Run scripts/greet.sh."))
        .program("greet/scripts/greet.sh", script)
        .file("greet/assets/who.txt", "the skill")
        .gzip()
}

/// Returns a job that runs the script.
fn greet_world() -> Value {
    let prompt = bash("skill/scripts/greet.sh World");
    json!({"skill": "greet", "model": "script/bash", "prompt": prompt})
}

/// Returns the form that uploads an archive.
fn form(archive: Vec<u8>) -> Form {
    Form::new().part("file", Part::bytes(archive).file_name("skill"))
}

/// Returns a request that uploads an archive.
fn post(service: &Service, archive: Vec<u8>) -> RequestBuilder {
    let request = service.request(Method::POST, "/v1/skills");
    request.multipart(form(archive))
}

/// Uploads an archive, and returns the status and the response body.
async fn upload(service: &Service, archive: Vec<u8>) -> (StatusCode, Value) {
    let response = post(service, archive).send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

/// Uploads an archive that creates a new version.
pub(crate) async fn uploaded(service: &Service, archive: Vec<u8>) -> Value {
    let (status, skill) = upload(service, archive).await;
    assert_eq!(status, 201, "{skill:#}");
    skill
}

/// Deletes the skill `greet`.
async fn delete(service: &Service) {
    let request = service.request(Method::DELETE, "/v1/skills/greet");
    assert_eq!(request.send().await.unwrap().status(), 204);
}
