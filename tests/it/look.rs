//! Images in tool results: their delivery to the model in both wire formats, their limits and their lifetime.

mod documents;
mod foreign;
mod hostile;
mod resumed;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use crate::support::log::data;
use crate::support::{Service, has_program};

const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];

/// Three pages of 200 × 100 points. The second is blank.
const PDF: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
    2 0 obj<</Type/Pages/Kids[3 0 R 4 0 R 5 0 R]/Count 3/MediaBox[0 0 200 100]/Resources<</Font<</F 6 0 R>>>>>>endobj\n\
    3 0 obj<</Type/Page/Parent 2 0 R/Contents 7 0 R>>endobj\n4 0 obj<</Type/Page/Parent 2 0 R>>endobj\n\
    5 0 obj<</Type/Page/Parent 2 0 R/Contents 7 0 R>>endobj\n\
    6 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n\
    7 0 obj<</Length 37>>stream\nBT /F 24 Tf 10 60 Td (Tea sells) Tj ET\nendstream endobj\n\
    trailer<</Root 1 0 R>>\n%%EOF\n";

/// Starts a service with a scripted model and the skill `looker`.
async fn service() -> Service {
    let mut service = Service::with_environment(&[("SKILLET_SKILLS_DIR", SKILLS)]).await;
    service.add_worker(&[]).await;
    service
}

fn job(model: &str, marker: &str) -> Value {
    json!({"skill": "looker", "model": model, "prompt": format!("Look. #{marker}")})
}

async fn with_file(
    service: &Service,
    body: Value,
    name: &str,
    content: impl Into<Vec<u8>>,
) -> Value {
    let asset = service.upload(name, content).await;
    let mut body = body;
    body["inputs"] = json!([{"asset_id": asset["id"]}]);
    body
}

fn look(path: &str) -> Reply {
    Reply::call("look_at", json!({"path": path}))
}

/// Returns the image files in the tool results of a request, decoded.
fn images(request: &Request) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let messages = request["messages"].as_array().unwrap();
    for message in messages.iter().skip(2) {
        for part in message["content"].as_array().into_iter().flatten() {
            let inner = part["content"].as_array().into_iter().flatten();
            for image in inner.filter(|inner| inner["type"] == "image") {
                found.push(image["source"]["data"].as_str().unwrap().to_owned());
            }
            if part["type"] == "image_url" {
                let url = part["image_url"]["url"].as_str().unwrap();
                found.push(url.split_once(";base64,").unwrap().1.to_owned());
            }
        }
    }
    let decoded = found.iter().map(|base64| STANDARD.decode(base64).unwrap());
    decoded.collect()
}

/// Returns the width and the height of a PNG.
fn size(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG"), "it is a PNG");
    let edge = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (edge(16), edge(20))
}

/// Returns a PNG in one shade of grey.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut content = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_pixel(width, height, image::Rgb([99; 3]))
        .write_to(&mut content, image::ImageFormat::Png)
        .unwrap();
    content.into_inner()
}

#[tokio::test]
async fn an_image_is_seen_on_both_wires_and_named_in_the_log() {
    let service = service().await;
    for model in BOTH {
        let marker = model.replace('/', "-");
        let replies = [look("grey.png"), Reply::text("It is grey.")];
        service.model.script(&marker, replies);
        let body = with_file(&service, job(model, &marker), "grey.png", png(3136, 200)).await;
        let ended = service.run(&body).await;
        assert_eq!(
            ended["text"],
            "It is grey.",
            "{ended:#}\n{}",
            service.logs()
        );
        let requests = service.model.requests(&marker);
        let seen = images(&requests[1]);
        assert_eq!(seen.len(), 1, "{:#}", requests[1]["messages"]);
        assert_eq!(size(&seen[0]), (1568, 100));
        let events = service.events(ended["id"].as_str().unwrap()).await;
        let completed = data(&events, "tool.completed")[0];
        let output = completed["output"].as_str().unwrap();
        assert!(
            output.contains("3136 × 200 px") && output.contains("all of it is blank"),
            "{output}"
        );
        let image = &completed["images"][0];
        assert_eq!(
            (&image["name"], &image["width"]),
            (&json!("grey.png"), &json!(1568))
        );
        assert_eq!(image["size"], seen[0].len());
        let log = json!(events).to_string();
        assert!(
            !log.contains(&STANDARD.encode(&seen[0])),
            "the log has no content of images"
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn pages_come_on_a_contact_sheet_or_one_in_detail() {
    if !has_program("pdftoppm") {
        return;
    }
    let service = service().await;
    let detail = json!({"path": "tea.pdf", "pages": "3", "width": 400});
    let replies = [
        look("tea.pdf").then_call("look_at", detail),
        look("tea.pdf").then_call("look_at", json!({"path": "tea.pdf", "pages": "2-9"})),
        Reply::text("Page 2 is blank."),
    ];
    service.model.script("pages", replies);
    let body = with_file(&service, job(BOTH[0], "pages"), "tea.pdf", PDF).await;
    let ended = service.run(&body).await;
    assert_eq!(
        ended["text"],
        "Page 2 is blank.",
        "{ended:#}\n{}",
        service.logs()
    );
    let requests = service.model.requests("pages");
    let seen = images(&requests[1]);
    let (width, height) = size(&seen[0]);
    assert!(
        width <= 1568 && height <= 1568 && width > 600,
        "{width} × {height}"
    );
    assert_eq!(size(&seen[1]), (400, 200));
    let events = service.events(ended["id"].as_str().unwrap()).await;
    let outputs = data(&events, "tool.completed");
    let text = |at: usize| outputs[at]["output"].as_str().unwrap();
    assert!(
        text(0).starts_with("tea.pdf: 3 pages; 3 on a contact sheet"),
        "{}",
        text(0)
    );
    assert!(
        text(0).contains("page 2: 200 × 100 pt\n  all of it is blank"),
        "{}",
        text(0)
    );
    assert!(
        text(1).contains("fonts: Helvetica (not embedded)"),
        "{}",
        text(1)
    );
    assert!(
        text(1).contains("lines 2") && text(1).contains(": Tea sells"),
        "{}",
        text(1)
    );
    assert!(
        text(3).contains("there is no page 4; the file has 3"),
        "{}",
        text(3)
    );
    // The rendered pages do not stay in the workspace.
    let sh = Reply::call("shell_exec", json!({"command": "ls .skillet"}));
    service
        .model
        .script("left", [look("tea.pdf"), sh, Reply::text("Done.")]);
    let body = with_file(&service, job(BOTH[0], "left"), "tea.pdf", PDF).await;
    let ended = service.run(&body).await;
    let events = service.events(ended["id"].as_str().unwrap()).await;
    let left = data(&events, "tool.completed")[1]["output"]
        .as_str()
        .unwrap();
    assert!(
        !left.contains(".png") && left.contains("arguments.json"),
        "{left}"
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_model_that_refuses_images_is_told_so_and_asked_again() {
    let service = service().await;
    for model in BOTH {
        let marker = format!("blind-{}", model.replace('/', "-"));
        // An image input would be refused with the first request, so the job creates the file itself.
        let mut body = job(model, &marker);
        let twice = STANDARD.encode(STANDARD.encode(png(40, 30)));
        body["inputs"] = json!([{"name": "grey.b64", "data": twice}]);
        let unpack = json!({"command": "base64 -d grey.b64 > grey.png"});
        let replies = [
            Reply::call("shell_exec", unpack),
            look("grey.png"),
            Reply::status(400).saying("This model does not support image input."),
            look("./grey.png"),
            Reply::text("I rely on the numbers."),
        ];
        service.model.script(&marker, replies);
        let ended = service.run(&body).await;
        assert_eq!(
            ended["text"],
            "I rely on the numbers.",
            "{ended:#}\n{}",
            service.logs()
        );
        let requests = service.model.requests(&marker);
        let counts: Vec<_> = requests
            .iter()
            .map(|request| images(request).len())
            .collect();
        assert_eq!(counts, [0, 0, 1, 0, 0]);
        let told = requests[3]["messages"].to_string();
        assert!(
            told.contains("This model does not support images: grey.png is not shown"),
            "{told}"
        );
        let events = service.events(ended["id"].as_str().unwrap()).await;
        let last = data(&events, "tool.completed")[2].clone();
        let output = last["output"].as_str().unwrap();
        assert!(
            output.contains("40 × 30 px") && output.contains("This model does not support images."),
            "{output}"
        );
        assert_eq!(last["images"], Value::Null);
        // The worker remembers for later jobs that the model refuses images.
        let marker = format!("{marker}-later");
        service
            .model
            .script(&marker, [look("grey.png"), Reply::text("Known.")]);
        let body = with_file(&service, job(model, &marker), "grey.png", png(40, 30)).await;
        assert_eq!(service.run(&body).await["text"], "Known.");
        let requests = service.model.requests(&marker);
        assert!(!requests[0]["messages"].to_string().contains("base64"));
        assert_eq!(images(&requests[1]).len(), 0);
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn only_the_latest_images_stay_in_view() {
    let service = service().await;
    service
        .model
        .script_with("many", |request| match request.turn() {
            turn @ 0..11 => {
                Reply::call("look_at", json!({"path": "grey.png", "width": 300 + turn}))
            }
            _ => Reply::text("Seen."),
        });
    let body = with_file(&service, job(BOTH[0], "many"), "grey.png", png(20, 10)).await;
    let mut body = body;
    body["limits"] = json!({"max_iterations": 20});
    let ended = service.run(&body).await;
    assert_eq!(ended["text"], "Seen.", "{ended:#}\n{}", service.logs());
    let requests = service.model.requests("many");
    let counts: Vec<_> = requests
        .iter()
        .map(|request| images(request).len())
        .collect();
    assert_eq!(counts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 4, 5, 6]);
    let events = service.events(ended["id"].as_str().unwrap()).await;
    let dropped = data(&events, "images.dropped");
    assert_eq!(dropped, [&json!({"kept": 4})]);
    assert_eq!(service.model.violations(), [""; 0]);
}
