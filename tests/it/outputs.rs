//! Outputs of jobs: accepted files, and rejections.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tests::model_server::Reply;

use crate::support::log::{data, types};
use crate::support::{Service, bash, has_program};

const CLAUDE: &str = "anthropic/claude-test";

#[tokio::test]
async fn the_kind_of_an_output_follows_from_its_content() {
    let service = Service::with_maker().await;
    let make = r#"
        printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR' > dot.png
        echo '<svg xmlns="http://www.w3.org/2000/svg"/>' > drawing.svg
        echo '<!doctype html><title>x</title>' > page.html
        mkdir sub; echo '{"a": 1}' > 'sub/my data.json'
        printf 'RIFF\x24\0\0\0WAVEfmt ' > beep.wav
    "#;
    let outputs = [
        ("image", "dot.png", "image/png"),
        ("image", "drawing.svg", "image/svg+xml"),
        ("html", "page.html", "text/html"),
        ("document", "sub/my data.json", "application/json"),
        ("html", "page.html", "text/html"),
        ("audio", "beep.wav", "audio/"),
    ];
    let lines = outputs.map(|(_, path, _)| format!("output: {path}"));
    let job = run(&service, &(bash(make) + "\n" + &lines.join("\n"))).await;
    let events = service.events(job["id"].as_str().unwrap()).await;
    let created = data(&events, "asset.created");
    for ((kind, path, content_type), created) in outputs.into_iter().zip(&created) {
        assert_eq!(
            (&created["kind"], &created["path"]),
            (&json!(kind), &json!(path))
        );
        let found = created["asset"]["content_type"].as_str().unwrap();
        assert!(found.starts_with(content_type), "{path}: {found}");
    }
    assert_eq!(created.len(), outputs.len(), "{job:#}");
    assert!(!types(&events).contains(&"asset.rejected"));
    // The page was submitted twice. The second version replaced the first one in its position.
    let names: Vec<_> = job["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|output| &output["asset"]["name"])
        .collect();
    assert_eq!(
        names,
        [
            "dot.png",
            "drawing.svg",
            "page.html",
            "my data.json",
            "beep.wav"
        ]
    );
    assert_eq!(job["outputs"][2]["kind"], "html");
}

#[tokio::test]
async fn a_character_that_no_font_has_is_told_to_the_model() {
    if !has_program("python3") || !has_program("fc-list") {
        return;
    }
    let service = Service::with_maker().await;
    // U+0378 is not assigned to any character.
    let make = r#"
        printf '<!doctype html><title>x</title><style>p::after { content: "\\378" }</style><p>caf\u00e9</p>' > good.html
        printf '<!doctype html><title>x</title><p>caf\u00e9 &#x378; \u0378</p>' > bad.html
        printf '<svg xmlns="http://www.w3.org/2000/svg"><text>\u0378</text></svg>' > bad.svg
        python3 -c "import zipfile
with zipfile.ZipFile('bad.docx', 'w') as archive:
    archive.writestr('word/document.xml', '<w:t>caf\u00e9 \u0378</w:t>')
    archive.writestr('word/styles.xml', '<w:t>\u0379</w:t>')"
    "#;
    let names = ["good.html", "bad.html", "bad.svg", "bad.docx"];
    let lines = names.map(|name| format!("output: {name}"));
    let job = run(&service, &(bash(make) + "\n" + &lines.join("\n"))).await;
    let events = service.events(job["id"].as_str().unwrap()).await;
    let completed = data(&events, "tool.completed");
    let said: Vec<_> = completed
        .iter()
        .map(|data| data["output"].as_str().unwrap())
        .filter(|said| said.contains("is an output now"))
        .collect();
    assert_eq!(said.len(), names.len(), "{job:#}");
    assert!(!said[0].contains("Warning"), "{}", said[0]);
    for said in &said[1..] {
        assert!(
            said.contains("no font draws them:\nU+0378 \u{378} (unnamed)\n"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_file_that_does_not_fit_is_rejected_and_the_model_told_why() {
    let service = Service::with_maker().await;
    let make = "echo text > a.txt; touch empty.txt; mkdir folder; ln -s /etc/passwd link; ln -s a.txt inner; \
                mkfifo pipe; echo two names > one; ln one hard; ln -s loop loop";
    let cases = [
        ("image", "none.png", "no file none.png"),
        ("document", "empty.txt", "is empty"),
        ("document", "../../../etc/passwd", "not in the workspace"),
        ("document", "/etc/passwd", "not in the workspace"),
        ("document", "link", "not in the workspace"),
        ("document", "loop", "not in the workspace"),
        ("document", "folder", "not a regular file"),
        ("document", "pipe", "not a regular file"),
        ("document", "hard", "not a regular file"),
        ("document", "a\u{0}b", "no file"),
        ("document", "", "no file"),
    ];
    let reasons = [
        "missing",
        "empty",
        "outside",
        "outside",
        "outside",
        "outside",
        "not_a_file",
        "not_a_file",
        "not_a_file",
        "missing",
        "missing",
    ];
    let mut calls = Reply::call("shell.exec", json!({"command": make}));
    for (kind, path, _) in cases {
        calls = calls.then_call(&format!("set_output_{kind}"), json!({"path": path}));
    }
    let good =
        Reply::call("set_output", json!({"path": "inner"})).then_call("set_output", json!({}));
    service
        .model
        .script("rejected", [calls, good, Reply::text("done")]);
    let job = json!({"skill": "maker", "model": CLAUDE, "prompt": "Try. #rejected"});
    let job = service.run(&job).await;
    let events = service.events(job["id"].as_str().unwrap()).await;
    let rejected = data(&events, "asset.rejected");
    let completed = data(&events, "tool.completed");
    assert_eq!(rejected.len(), cases.len(), "{rejected:#?}");
    for (number, (_, path, told)) in cases.into_iter().enumerate() {
        assert_eq!(
            *rejected[number],
            json!({"path": path, "reason": reasons[number]})
        );
        let completed = completed[number + 1];
        assert_eq!(completed["outcome"], "error");
        assert!(
            completed["output"].as_str().unwrap().contains(told),
            "{path:?}: {completed}"
        );
    }
    let told = service.model.requests("rejected")[1]["messages"].to_string();
    for (_, path, words) in cases {
        assert!(told.contains(words), "{path:?}: {told}");
    }
    let outputs = job["outputs"].as_array().unwrap();
    assert_eq!(
        outputs.len(),
        1,
        "a link inside is as good as its target: {job:#}"
    );
    assert_eq!(service.download(&outputs[0]["asset"]).await, b"text\n");
    assert!(
        completed.last().unwrap()["output"]
            .as_str()
            .unwrap()
            .contains("\"path\" is a required property")
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn the_same_path_replaces_and_what_was_given_stays_what_it_was() {
    let service = Service::with_maker().await;
    let give = |path: &str| ("set_output".to_owned(), json!({"path": path}));
    let shell = |command: &str| ("shell.exec".to_owned(), json!({"command": command}));
    let calls = [
        shell("echo one > a.txt; echo other > b.txt"),
        give("a.txt"),
        give("b.txt"),
        shell("echo two > a.txt; rm b.txt"),
        give("a.txt"),
        shell("echo three > a.txt"),
    ];
    let reply = calls
        .into_iter()
        .fold(Reply::text("I give."), |reply, (tool, input)| {
            reply.then_call(&tool, input)
        });
    service
        .model
        .script("replace", [reply, Reply::text("done")]);
    let job = service
        .run(&json!({"skill": "maker", "model": CLAUDE, "prompt": "Do it. #replace"}))
        .await;
    let mut contents = Vec::new();
    for output in job["outputs"].as_array().unwrap() {
        contents.push(service.download(&output["asset"]).await);
    }
    assert_eq!(contents, [b"two\n".as_slice(), b"other\n"]);
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_eq!(data(&events, "asset.created").len(), 3);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_file_can_be_downloaded_when_it_is_announced() {
    let service = Service::with_maker().await;
    let give = Reply::call("shell.exec", json!({"command": "seq 5000 > a.txt"}))
        .then_call("set_output", json!({"path": "a.txt"}));
    service.model.script("early", [give, Reply::stall()]);
    let job = service
        .create(&json!({"skill": "maker", "model": CLAUDE, "prompt": "Do it. #early"}))
        .await;
    let mut stream = service.follow(&job, 0).await;
    let created = loop {
        let event: Value = stream.next().await.expect("it is made");
        if event["type"] == "asset.created" {
            break event["data"]["asset"].clone();
        }
    };
    let content = service.download(&created).await;
    assert_eq!(created["sha256"], hex::encode(Sha256::digest(&content)));
    let path = format!("/v1/assets/{}", created["id"].as_str().unwrap());
    assert_eq!(service.get(&path).await.1, created);
    assert_eq!(
        service.until_status(&job, &["running"]).await["outputs"],
        json!([])
    );
    service.model.stalled("early").await;
    service.model.release("early");
    assert_eq!(
        service.finished(&job).await["outputs"],
        json!([{"kind": "document", "asset": created}])
    );
}

#[tokio::test]
async fn more_outputs_than_a_job_may_have_are_refused_and_not_announced() {
    let service = Service::with_maker().await;
    let give = |from: usize, to: usize| {
        let calls = (from..to).map(|number| json!({"path": format!("{number}.txt")}));
        calls.fold(Reply::text("More."), |reply, input| {
            reply.then_call("set_output", input)
        })
    };
    let make = Reply::call(
        "shell.exec",
        json!({"command": "for i in $(seq 0 51); do echo $i > $i.txt; done"}),
    );
    service.model.script(
        "many",
        [make, give(0, 30), give(30, 52), Reply::text("done")],
    );
    let job = service
        .run(&json!({"skill": "maker", "model": CLAUDE, "prompt": "Do it. #many"}))
        .await;
    assert_eq!(job["outputs"].as_array().unwrap().len(), 50);
    for refused in ["50\n", "51\n"] {
        let sha256 = json!(hex::encode(Sha256::digest(refused)));
        assert!(!service.blob(&sha256).exists(), "its bytes were kept");
    }
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_eq!(data(&events, "asset.created").len(), 50);
    let last = data(&events, "tool.completed").pop().unwrap();
    assert_eq!(
        (&last["outcome"], &last["output"]),
        (&json!("error"), &json!("there are too many outputs"))
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

/// Runs a job of the skill that has every `set_output` tool.
async fn run(service: &Service, prompt: &str) -> Value {
    let limits = json!({"max_iterations": 30});
    let job = json!({"skill": "maker", "model": "script/bash", "prompt": prompt, "limits": limits});
    service.run(&job).await
}
