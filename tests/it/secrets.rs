//! Secrets: permissions, delivery and redaction.

mod command;
mod handed;
mod redacted;
mod stored;

use reqwest::{Method, StatusCode};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Service, Terminal};

/// Long enough for a scripted model to send it in several pieces, and with characters that JSON, URLs and base64
/// encode.
const VALUE: &str = "correct/horse \"battery\" +stäple";

/// A service with the skill `keeper`, which requires KEEPER_KEY and accepts KEEPER_EXTRA, and the skill `stranger`,
/// which declares no secrets.
struct SecretsSetup {
    service: Service,
    _skills: TempDir,
}

impl SecretsSetup {
    async fn start() -> Self {
        let mut setup = Self::with_environment(&[]).await;
        setup.service.add_worker(&[]).await;
        setup
    }

    /// Starts a service without a worker and with more variables.
    async fn with_environment(more: &[(&str, &str)]) -> Self {
        let skills = skills();
        let mut variables = vec![("SKILLET_SKILLS_DIR", skills.path().to_str().unwrap())];
        variables.extend(more);
        Self {
            service: Service::with_environment(&variables).await,
            _skills: skills,
        }
    }
}

/// Creates a folder with the skills.
fn skills() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, metadata) in [
        (
            "keeper",
            "metadata:\n  skillet.secrets: KEEPER_KEY KEEPER_EXTRA?\n  skillet.outputs: document\n",
        ),
        ("stranger", ""),
    ] {
        let text = format!(
            "---\nname: {name}\ndescription: Keeps.\nallowed-tools: shell.exec set_output\n{metadata}---\nKeep.\n"
        );
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("SKILL.md"), text).unwrap();
    }
    folder
}

async fn put(service: &Service, name: &str, value: &str) {
    let path = format!("/v1/secrets/{name}");
    let request = service.request(Method::PUT, &path);
    let response = request.json(&json!({"value": value})).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    assert_eq!(response.bytes().await.unwrap(), "");
}

/// Returns a terminal with the skills and these variables.
fn terminal(skills: &TempDir, more: &[(&str, &str)]) -> Terminal {
    let mut variables = vec![("SKILLET_SKILLS_DIR", skills.path().to_str().unwrap())];
    variables.extend(more);
    Terminal::new(&variables)
}
