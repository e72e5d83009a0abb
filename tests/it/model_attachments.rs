//! Files attached for the model: scaled images, and files of which only the name is listed.

use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use crate::support::{Service, scripted};

const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];

/// 9000 × 9 grey pixels.
const WIDE_PNG: &str = "89504e470d0a1a0a0000000d49484452000023280000000908000000007a1bd8f4\
    0000007b4944415478daedda310100000c83b03a9ff5092191c0cd0e0000000000000000022601000000000000\
    00000546190000000000000000128c32000000000000000024186500000000000000004830ca00000000000000\
    00906094010000000000000020c128030000000000000040825106000000000000008084073aa800cce3f41741\
    0000000049454e44ae426082";

/// The start of a WAV file, which is sufficient to detect its type.
const WAV: &[u8] = b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0\0\0";

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

/// Returns the parts of the first user message.
fn parts(request: &Request) -> Vec<Value> {
    let messages = request["messages"].as_array().unwrap();
    let user = messages.iter().find(|message| message["role"] == "user");
    user.unwrap()["content"].as_array().unwrap().clone()
}

fn kinds(request: &Request) -> Vec<String> {
    let content = &request["messages"];
    let is_text = |message: &Value| message["role"] == "user" && message["content"].is_string();
    if content.as_array().unwrap().iter().any(is_text) {
        return vec!["text".to_owned()];
    }
    let kinds = parts(request).into_iter();
    kinds
        .map(|part| part["type"].as_str().unwrap().to_owned())
        .collect()
}

async fn with_inputs(service: &Service, files: &[(&str, &[u8])]) -> Value {
    let mut inputs = Vec::new();
    for (name, content) in files {
        let asset = service.upload(name, content.to_vec()).await;
        inputs.push(json!({"asset_id": asset["id"]}));
    }
    Value::Array(inputs)
}

#[tokio::test]
async fn an_image_that_is_too_large_is_scaled_down_and_one_that_is_none_is_named() {
    let service = Service::start().await;
    let wide = hex::decode(WIDE_PNG).unwrap();
    let broken = &wide[..60];
    let inputs = with_inputs(&service, &[("wide.png", &wide), ("broken.png", broken)]).await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("wide-{number}");
        let look = json!({"command": "stat -c %s wide.png"});
        let look = Reply::call("shell.exec", look);
        service.model.script(&marker, [look, Reply::text("grey")]);
        let mut body = scripted(model, &marker);
        body["inputs"] = inputs.clone();
        let job = service.run(&body).await;
        assert_eq!(job["text"], "grey", "{job:#}");
        let requests = service.model.requests(&marker);
        let parts = parts(&requests[0]);
        let all = json!(parts).to_string();
        assert!(
            all.contains("- wide.png (image/png, 180 bytes)\\n"),
            "{all}"
        );
        assert!(
            all.contains(
                "- broken.png (image/png, 60 bytes, not shown here: it cannot be read as an image)"
            ),
            "{all}"
        );
        let images: Vec<_> = parts.iter().filter(|part| part["type"] != "text").collect();
        assert_eq!(images.len(), 1, "{all}");
        // The scaled image is a JPEG.
        assert!(images[0].to_string().contains("/9j/"), "{all}");
        let told = requests[1]["messages"].to_string();
        assert!(told.contains("180"), "the file is as it was: {told}");
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn what_the_format_has_no_block_for_is_named() {
    let service = Service::start().await;
    let inputs = with_inputs(&service, &[("a.wav", WAV), ("a.pdf", PDF)]).await;
    let expected = [
        &["text", "text", "text", "document"][..],
        &["text", "text", "input_audio", "file"],
    ];
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("formats-{number}");
        service.model.script(&marker, [Reply::text("heard")]);
        let mut body = scripted(model, &marker);
        body["inputs"] = inputs.clone();
        service.run(&body).await;
        let requests = service.model.requests(&marker);
        assert_eq!(kinds(&requests[0]), expected[number]);
        if number == 0 {
            let named = parts(&requests[0])[2]["text"].clone();
            assert!(
                named.as_str().unwrap().starts_with("[file a.wav (audio/"),
                "{named}"
            );
        }
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_file_that_the_model_refuses_is_named_from_then_on() {
    let service = Service::start().await;
    let inputs = with_inputs(&service, &[("a.wav", WAV), ("a.pdf", PDF)]).await;
    let refusals = [
        "messages.0.content.2.pdf: The PDF specified is password protected.",
        "Invalid value: 'input_audio'. This model has no ears.",
    ];
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("refused-file-{number}");
        let replies = [
            Reply::status(400).saying(refusals[number]),
            Reply::call("shell.exec", json!({"command": "ls"})),
            Reply::text("It is there."),
        ];
        service.model.script(&marker, replies);
        let mut body = scripted(model, &marker);
        body["inputs"] = inputs.clone();
        let job = service.run(&body).await;
        assert_eq!(job["text"], "It is there.", "{job:#}");
        let requests = service.model.requests(&marker);
        assert_eq!(requests.len(), 3);
        let (refused, left) = [("document", "text"), ("input_audio", "file")][number];
        assert!(kinds(&requests[0]).contains(&refused.to_owned()));
        for request in &requests[1..] {
            let kinds = kinds(request);
            assert!(!kinds.contains(&refused.to_owned()), "{kinds:?}");
            assert!(kinds.contains(&left.to_owned()), "{kinds:?}");
            let name = ["a.pdf", "a.wav"][number];
            let named = format!("[file {name} (");
            assert!(request["messages"].to_string().contains(&named));
        }
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_refusal_that_is_not_about_files_is_final() {
    let service = Service::start().await;
    let inputs = with_inputs(&service, &[("a.pdf", PDF)]).await;
    let refusal = Reply::status(400).saying("There is no such model.");
    service.model.script("final", [refusal]);
    let mut body = scripted(BOTH[0], "final");
    body["inputs"] = inputs;
    let job = service.run(&body).await;
    assert_eq!(job["error"]["code"], "model_refused", "{job:#}");
    assert_eq!(service.model.requests("final").len(), 1);
}
