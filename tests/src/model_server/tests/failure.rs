//! Scripted failures.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{BOTH, ask, assemble, builder, first, post, read};
use crate::model_server::{ModelServer, Provider, Reply};

#[actix_web::test]
async fn an_error_is_answered_once_and_in_the_providers_shape() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script(
            "busy",
            [Reply::status(429).retry_after(1), Reply::status(529)],
        );
        model.script("busy", [Reply::text("Now.")]);
        let body = first(provider, "busy");

        let response = post(&model, provider, &body).await;
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "1");
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["type"], "rate_limit_error");
        assert_eq!(post(&model, provider, &body).await.status(), 529);
        assert_eq!(model.remaining("busy"), 1);
        assert_eq!(ask(&model, provider, &body).await.text, "Now.");

        assert_eq!(model.violations(), [""; 0]);
        let requests = model.requests("busy");
        assert_eq!(requests.len(), 3);
        assert_eq!(requests[2]["messages"], body["messages"]);
        let key = ["x-api-key", "authorization"].map(|name| requests[0].headers.get(name));
        assert!(key.iter().flatten().any(|value| value.ends_with("secret")));
    }
}

#[actix_web::test]
async fn an_error_says_what_the_script_wants_or_is_a_gateways() {
    for provider in BOTH {
        let model = ModelServer::start();
        let worded = Reply::status(400).saying("No such thing.");
        let gateway = Reply::status(502)
            .with_body("<html>Bad gateway</html>")
            .header("retry-after-ms", 20);
        model.script("words", [worded, gateway]);
        let body = first(provider, "words");
        let error: Value = post(&model, provider, &body).await.json().await.unwrap();
        assert_eq!(error["error"]["message"], "No such thing.");
        let response = post(&model, provider, &body).await;
        assert_eq!(response.headers()["retry-after-ms"], "20");
        assert_eq!(response.text().await.unwrap(), "<html>Bad gateway</html>");
    }
}

#[actix_web::test]
async fn a_cut_reply_breaks_off_within_an_event() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script(
            "cut",
            [
                Reply::text("some long text").cut_after(4),
                Reply::text("Whole."),
            ],
        );
        let body = first(provider, "cut");

        let (bytes, is_cut) = read(post(&model, provider, &body).await).await;
        assert!(is_cut);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("\n\n").count(), 4);
        assert!(!text.ends_with("\n\n"));
        assert!(model.hang_ups("cut").is_empty());
        assert_eq!(ask(&model, provider, &body).await.text, "Whole.");
    }
}

#[actix_web::test]
async fn a_reply_can_end_early_or_with_an_error() {
    for provider in BOTH {
        let model = ModelServer::start();
        let reply = Reply::text("some long text");
        model.script("early", [reply.clone().end_after(4), reply.error_after(4)]);
        let body = first(provider, "early");

        let (bytes, is_cut) = read(post(&model, provider, &body).await).await;
        assert!(!is_cut && !assemble(provider, &bytes).is_complete);
        let (with_error, is_cut) = read(post(&model, provider, &body).await).await;
        assert!(!is_cut);
        let (_, error) = std::str::from_utf8(&with_error)
            .unwrap()
            .rsplit_once("data: ")
            .unwrap();
        let error: Value = serde_json::from_str(error).unwrap();
        assert!(
            error["error"]["message"]
                .as_str()
                .unwrap()
                .to_lowercase()
                .contains("overloaded")
        );
    }
}

#[actix_web::test]
async fn a_stalled_reply_notices_a_client_that_hangs_up() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script("stall", [Reply::stall()]);
        let mut response = post(&model, provider, &first(provider, "stall")).await;
        assert!(response.chunk().await.unwrap().is_some());
        model.stalled("stall").await;
        assert!(model.hang_ups("stall").is_empty());
        let before = Instant::now();
        drop(response);
        assert!(model.hung_up("stall").await > before);
        assert_eq!(model.hang_ups("stall").len(), 1);
    }
}

#[actix_web::test]
async fn a_released_reply_goes_on_to_its_end() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script("stall", [Reply::stall()]);
        let body = first(provider, "stall");
        let (reply, ()) = futures_util::join!(ask(&model, provider, &body), async {
            model.stalled("stall").await;
            model.release("stall");
        });
        assert!(reply.is_complete);
        assert_eq!(reply.text, "I am thinking about this for a while.");
        assert!(model.hang_ups("stall").is_empty());
    }
}

#[actix_web::test]
async fn a_client_that_hangs_up_before_the_answer_is_noticed() {
    let model = ModelServer::start();
    model.script(
        "late",
        [Reply::text("Late.").delay(Duration::from_secs(60))],
    );
    let request = builder(&model, Provider::OpenAi).json(&first(Provider::OpenAi, "late"));
    let error = request
        .timeout(Duration::from_millis(100))
        .send()
        .await
        .unwrap_err();
    assert!(error.is_timeout());
    model.hung_up("late").await;
}

#[actix_web::test]
async fn a_delay_holds_for_every_reply_without_its_own() {
    let model = ModelServer::start();
    let delay = Duration::from_millis(50);
    model.set_delay(delay);
    let hasty = Reply::text("At once.").delay(Duration::ZERO);
    model.script("delay", [Reply::text("Later."), hasty]);
    let body = first(Provider::OpenAi, "delay");
    let start = Instant::now();
    ask(&model, Provider::OpenAi, &body).await;
    assert!(start.elapsed() >= delay);
    let start = Instant::now();
    ask(&model, Provider::OpenAi, &body).await;
    assert!(start.elapsed() < delay);
}

#[actix_web::test]
async fn a_request_without_a_script_is_refused() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script("over", []);
        model.script_with("broken", |_| panic!("this panic is meant"));
        for marker in ["nobody", "over", "over-and-out", "broken"] {
            let response = post(&model, provider, &first(provider, marker)).await;
            assert_eq!(response.status(), 400);
        }
        let unscripted = "A request: No marker of a script stands in the first user text.";
        let over = "#over, request 0: The script has ended.";
        let broken = "#broken, request 0: The rule panicked.";
        assert_eq!(model.violations(), [unscripted, over, unscripted, broken]);
        let response = builder(&model, provider)
            .body("no JSON")
            .send()
            .await
            .unwrap();
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["type"], json!("invalid_request_error"));
    }
}
