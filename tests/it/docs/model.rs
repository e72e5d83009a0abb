//! The model provider for the pages.

use serde_json::json;
use tests::model_server::{ModelServer, Reply};

/// Starts a provider whose model creates the page of the README.
pub(super) fn start() -> ModelServer {
    let model = ModelServer::start();
    let command = "printf '<!doctype html><h1>Bread</h1>' > bread.html";
    model.script(
        "c0392b",
        [
            Reply::text("I write the page.").then_call("shell.exec", json!({"command": command})),
            Reply::call("set_output", json!({"path": "bread.html"})),
            Reply::text("The page has a table of all months."),
        ],
    );
    model
}
