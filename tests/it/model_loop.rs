//! The loop of a job: messages to the model, and the end of the loop.

use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use crate::support::log::{data, text, types};
use crate::support::{Service, scripted};

const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];
const CLAUDE: &str = BOTH[0];

#[tokio::test]
async fn thoughts_are_told_apart_from_text() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("thoughts-{number}");
        let reply = Reply::thinking("Is it so? It is.")
            .then_text("It is so.")
            .usage(100, 20)
            .cached(30, 0);
        service.model.script(&marker, [reply]);
        let job = service.run(&scripted(model, &marker)).await;
        assert_eq!(
            (&job["text"], &job["stop_reason"]),
            (&json!("It is so."), &json!("end_turn"))
        );
        assert_eq!(job["usage"]["input_tokens"], 100, "{job:#}");
        assert_eq!(job["usage"]["output_tokens"], 20);
        assert_eq!(job["usage"]["cache_read_tokens"], 30);
        let events = events(&service, &job).await;
        assert_eq!(text(&events, "reasoning.delta"), "Is it so? It is.");
        assert_eq!(text(&events, "message.delta"), "It is so.");
        let [completed] = data(&events, "message.completed")[..] else {
            panic!("{events:#?}")
        };
        assert_eq!(completed["model"], model);
        assert_eq!(completed["content"][0]["type"], "reasoning");
        assert_eq!(
            completed["content"][1],
            json!({"type": "text", "text": "It is so."})
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn every_call_of_a_reply_gets_its_one_result_in_order() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("calls-{number}");
        let calls = Reply::thinking("Three things.")
            .then_text("I look.")
            .then_call("shell.exec", json!({"command": "echo first"}))
            .then_call("fly_away", json!({}))
            .then_broken_call("shell.exec", "{\"command\": \"echo ")
            .then_call("shell.exec", json!({"comand": "echo typo"}))
            .then_call("shell.exec", json!({"command": "echo last; exit 3"}));
        service.model.script(&marker, [calls, Reply::text("done")]);
        let job = service.run(&scripted(model, &marker)).await;
        assert_eq!(
            (&job["text"], &job["usage"]["tool_calls"]),
            (&json!("done"), &json!(5))
        );

        let results = results(&service.model.requests(&marker)[1]);
        let told = [
            "first",
            "there is no tool `fly_away`",
            "was not run",
            "/comand: is not known; there are: command",
            "last",
        ];
        assert_eq!(results.len(), told.len(), "{results:#?}");
        for (result, told) in results.iter().zip(told) {
            assert!(result.contains(told), "{told}: {result}");
        }
        let events = events(&service, &job).await;
        let outcomes: Vec<_> = data(&events, "tool.completed")
            .iter()
            .map(|data| &data["outcome"])
            .collect();
        assert_eq!(outcomes, ["ok", "error", "error", "error", "error"]);
        assert_eq!(data(&events, "tool.completed")[4]["exit_code"], 3);
        assert_eq!(data(&events, "tool.started").len(), 5);
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn the_last_allowed_reply_ends_the_job_with_a_warning() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("limit-{number}");
        service.model.script_with(&marker, |request| {
            let turn = request.turn();
            Reply::text(format!("step {turn}"))
                .then_call("shell.exec", json!({"command": format!("echo {turn}")}))
        });
        let mut body = scripted(model, &marker);
        body["limits"] = json!({"max_iterations": 3});
        let job = service.run(&body).await;
        assert_eq!(
            (&job["status"], &job["stop_reason"]),
            (&json!("completed"), &json!("max_iterations"))
        );
        assert_eq!(
            (&job["text"], &job["usage"]["iterations"]),
            (&json!("step 2"), &json!(3))
        );
        let warning = job["warnings"][0].as_str().unwrap();
        assert!(warning.contains("limits.max_iterations (3)"), "{warning}");
        assert_eq!(
            data(&events(&service, &job).await, "log")[0]["message"],
            warning
        );
        assert_eq!(service.model.requests(&marker).len(), 3);
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn the_same_call_again_and_again_is_remarked_on_and_then_ends_the_job() {
    let service = Service::start().await;
    let again = || Reply::call("shell.exec", json!({"command": "echo same"}));
    let other = || Reply::call("shell.exec", json!({"command": "echo other"}));
    service.model.script(
        "stuck",
        [
            again(),
            again(),
            other(),
            again(),
            again(),
            again(),
            again(),
        ],
    );
    let job = service.run(&scripted(CLAUDE, "stuck")).await;
    assert_eq!(
        (&job["status"], &job["stop_reason"]),
        (&json!("completed"), &json!("repeated_call"))
    );
    assert_eq!(job["usage"]["tool_calls"], 6, "the seventh is not run");
    assert_eq!(job["warnings"].as_array().unwrap().len(), 1);
    let nudged: Vec<_> = service
        .model
        .requests("stuck")
        .iter()
        .map(|request| {
            results(request)
                .last()
                .is_some_and(|result| result.contains("3 times in a row"))
        })
        .collect();
    assert_eq!(nudged, [false, false, false, false, false, false, true]);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_model_that_ends_without_a_word_is_asked_for_one_once() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let call = Reply::call("shell.exec", json!({"command": "true"}));
        let (silent, asked) = (format!("silent-{number}"), format!("asked-{number}"));
        service.model.script(
            &asked,
            [call.clone(), Reply::empty(), Reply::text("It worked.")],
        );
        service
            .model
            .script(&silent, [call, Reply::empty(), Reply::empty()]);
        let job = service.run(&scripted(model, &asked)).await;
        assert_eq!(job["text"], "It worked.", "{job:#}");
        let requests = service.model.requests(&asked);
        let last = requests[2]["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .to_string();
        assert!(last.contains("without a word"), "{last}");

        let job = service.run(&scripted(model, &silent)).await;
        assert_eq!(
            (&job["status"], &job["text"]),
            (&json!("completed"), &Value::Null)
        );
        assert_eq!(service.model.requests(&silent).len(), 3, "asked once");
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_reply_that_was_cut_at_its_cap_does_not_run_half_a_call() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("cut-{number}");
        let cut = Reply::call(
            "shell.exec",
            json!({"command": "echo half of a long command"}),
        )
        .out_of_tokens();
        service
            .model
            .script(&marker, [cut, Reply::text("shorter").out_of_tokens()]);
        let job = service.run(&scripted(model, &marker)).await;
        assert_eq!(
            (&job["text"], &job["stop_reason"]),
            (&json!("shorter"), &json!("max_tokens"))
        );
        let events = events(&service, &job).await;
        assert!(!types(&events).contains(&"tool.output"), "{events:#?}");
        assert!(results(&service.model.requests(&marker)[1])[0].contains("was not run"));
        assert!(
            job["warnings"][0]
                .as_str()
                .unwrap()
                .contains("limits.max_tokens (16000)")
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn images_are_shown_to_the_model_and_other_files_are_named() {
    let service = Service::start().await;
    // A PNG with a single pixel.
    let png = hex::decode(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de\
         0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082",
    );
    let png = service.upload("dot.png", png.unwrap()).await;
    let csv = service.upload("sales.csv", "a,b\n1,2\n").await;
    let inputs = json!([{"asset_id": png["id"]}, {"asset_id": csv["id"]}, {"asset_id": csv["id"]}]);
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("image-{number}");
        let list = Reply::call("shell.exec", json!({"command": "ls; cat sales-2.csv"}));
        service.model.script(&marker, [list, Reply::text("a dot")]);
        let mut body = scripted(model, &marker);
        body["inputs"] = inputs.clone();
        service.run(&body).await;
        let requests = service.model.requests(&marker);
        let content = user_content(&requests[0]);
        let kinds: Vec<_> = content
            .iter()
            .map(|part| part["type"].as_str().unwrap())
            .collect();
        let image = ["image", "image_url"][number];
        assert_eq!(
            kinds.iter().filter(|kind| **kind == image).count(),
            1,
            "{kinds:?}"
        );
        let told = content
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<String>();
        assert!(told.contains("- dot.png (image/png, 69 bytes)"), "{told}");
        assert!(told.contains("- sales-2.csv (text/csv, 8 bytes)"), "{told}");
        let listed = &results(&requests[1])[0];
        assert!(
            listed.contains(r"dot.png\\nsales-2.csv\\nsales.csv\\na,b\\n1,2\\n"),
            "{listed}"
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

async fn events(service: &Service, job: &Value) -> Vec<Value> {
    service.events(job["id"].as_str().unwrap()).await
}

/// Returns the content of the first user message.
fn user_content(request: &Request) -> Vec<Value> {
    let messages = request["messages"].as_array().unwrap();
    let user = messages.iter().find(|message| message["role"] == "user");
    user.unwrap()["content"].as_array().unwrap().clone()
}

/// Returns the latest tool results, by call, in either wire format.
fn results(request: &Request) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let since = messages
        .iter()
        .rposition(|message| message["role"] == "assistant");
    let mut results = Vec::new();
    for message in &messages[since.map_or(messages.len(), |at| at + 1)..] {
        if message["role"] == "tool" {
            results.push(message["content"].to_string());
        } else {
            let blocks = message["content"].as_array().into_iter().flatten();
            let found = blocks.filter(|block| block["type"] == "tool_result");
            results.extend(found.map(|block| block["content"].to_string()));
        }
    }
    results
}
