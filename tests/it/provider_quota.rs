//! Quota, pauses, circuit breakers and fallbacks of model providers.

mod breaker;
mod concurrency;
mod fallback;
mod lease;
mod pause;

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::Service;

const CLAUDE: &str = "anthropic/claude-test";
const GPT: &str = "openai/gpt-test";

/// Starts an API whose workers will have these settings of the provider `anthropic`.
async fn service(settings: &str) -> Service {
    let mut service = Service::with_environment(&[(
        "SKILLET_PRICES",
        "anthropic/claude-test=3:15,openai/gpt-test=1:10",
    )])
    .await;
    let mut config = "[providers.anthropic]\n".to_owned();
    writeln!(config, "base_url = \"{}\"", service.model.base_url()).unwrap();
    config.push_str(settings);
    let file = service.home.path().join("providers.toml");
    std::fs::write(&file, config).unwrap();
    service.set_variable("SKILLET_CONFIG", &file.display().to_string());
    service
}

/// Returns a job with both models.
fn with_fallback(marker: &str) -> Value {
    json!({"skill": "shell", "model": [CLAUDE, GPT], "prompt": format!("Do it. #{marker}")})
}

/// Returns the status of the provider `anthropic` in the API.
async fn provider_status(service: &Service) -> String {
    let (_, page) = service.get("/v1/models?limit=100").await;
    let mut models = page["data"].as_array().unwrap().iter();
    let claude = models.find(|model| model["name"] == "anthropic/*").unwrap();
    claude["provider_status"].as_str().unwrap().to_owned()
}
