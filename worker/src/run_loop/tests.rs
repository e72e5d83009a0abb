//! Tests of the loop with scripted ports.

use bytes::Bytes;
use serde_json::json;
use shared::job::LoopStop;
use shared::message::{Block, StopReason, ToolCall};
use shared::schema::Schema;
use worker_model::{Media, ModelError, PixelSize};
use worker_tool::SubmitResult;

use super::scripted::{Scripted, ScriptedLoop, message, reply};
use crate::expected_result::{ExpectedResult, ResultForm};
use crate::loop_error::LoopError;

#[tokio::test]
async fn a_reply_without_calls_ends_the_loop() {
    let mut scripted = ScriptedLoop::new([reply("done", &[])]);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert_eq!(scripted.logged(), "message.delta message.completed");
    assert_eq!(scripted.workspace.saves, 0);
}

#[tokio::test]
async fn calls_run_in_order_before_the_model_is_asked_again() {
    let script = [reply("first", &["a", "b"]), reply("then", &[])];
    let mut scripted = ScriptedLoop::new(script);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert_eq!(scripted.ran(), ["a", "b"]);
    // The prompt; then the prompt, the reply and its results.
    let lengths: Vec<_> = scripted.requests().iter().map(|it| it.0).collect();
    assert_eq!(lengths, [1, 3]);
    assert_eq!(scripted.workspace.saves, 1);
}

#[tokio::test]
async fn the_loop_stops_after_as_many_replies_as_the_limit_says() {
    let script = ["a", "b"].map(|tool| reply("more", &[tool]));
    let mut scripted = ScriptedLoop::new(script);
    scripted.limits.max_iterations = 2;
    assert_eq!(scripted.run().await.unwrap(), LoopStop::MaxIterations);
    assert_eq!(scripted.ran(), ["a", "b"]);
}

#[tokio::test]
async fn the_same_call_again_and_again_stops_the_loop() {
    let script = (0..4).map(|_| reply("again", &["same"]));
    let mut scripted = ScriptedLoop::new(script);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::RepeatedCall);
    assert_eq!(scripted.ran().len(), 3);
}

#[tokio::test]
async fn a_model_that_says_nothing_is_asked_once_for_a_summary() {
    let script = [reply("", &[]), reply("", &[])];
    let mut scripted = ScriptedLoop::new(script);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert_eq!(scripted.requests().len(), 2);
}

#[tokio::test]
async fn a_reply_that_the_model_refuses_stops_the_loop() {
    let refused = message("no", &[], StopReason::Refusal);
    let mut scripted = ScriptedLoop::new([Scripted::Reply(refused)]);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::Refusal);
}

#[tokio::test]
async fn a_draining_worker_ends_at_the_boundary_after_a_call_with_a_saved_workspace() {
    let mut scripted = ScriptedLoop::new([reply("first", &["a", "b"])]);
    scripted.tools.drains = true;
    let error = scripted.run().await.unwrap_err();
    assert!(matches!(error, LoopError::Drained));
    assert_eq!(scripted.ran(), ["a"]);
    assert_eq!(scripted.workspace.saves, 1);
    assert_eq!(scripted.transcript.next_call().unwrap().tool, "b");
}

#[tokio::test]
async fn a_draining_worker_does_not_wait_for_a_reply() {
    let mut scripted = ScriptedLoop::new([Scripted::SilenceAndDrain]);
    let error = scripted.run().await.unwrap_err();
    assert!(matches!(error, LoopError::Drained));
    assert_eq!(scripted.logged(), "");
}

#[tokio::test]
async fn a_call_that_needs_approval_hands_all_such_calls_of_the_reply_over() {
    let mut scripted = ScriptedLoop::new([reply("may I", &["a", "send", "b", "send"])]);
    scripted.tools.needs_approval = Some("send");
    let Err(LoopError::AwaitsApproval(calls)) = scripted.run().await else {
        panic!("the loop waits for approval")
    };
    assert_eq!(calls.len(), 2);
    assert_eq!(scripted.ran(), ["a"]);
    assert_eq!(scripted.workspace.saves, 1);
}

#[tokio::test]
async fn a_job_whose_workspace_cannot_be_saved_does_not_wait_for_approval() {
    let mut scripted = ScriptedLoop::new([reply("may I", &["send"])]);
    scripted.tools.needs_approval = Some("send");
    scripted.workspace.works = false;
    let error = scripted.run().await.unwrap_err();
    assert!(matches!(error, LoopError::Unsaved));
}

#[tokio::test]
async fn a_workspace_that_cannot_be_saved_does_not_stop_the_loop() {
    let mut scripted = ScriptedLoop::new([reply("first", &["a"]), reply("done", &[])]);
    scripted.workspace.works = false;
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
}

#[tokio::test]
async fn a_lost_lease_ends_the_loop() {
    let mut scripted = ScriptedLoop::new([reply("first", &["a"])]);
    scripted.tools.loses_lease = true;
    let error = scripted.run().await.unwrap_err();
    assert!(matches!(error, LoopError::LeaseLost(_)));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_may_pass_is_retried() {
    let overload = ModelError::Unavailable {
        retry_after: None,
        message: "overloaded".to_owned(),
    };
    let mut scripted = ScriptedLoop::new([Scripted::Error(overload), reply("done", &[])]);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert_eq!(scripted.requests().len(), 2);
    assert_eq!(scripted.logged(), "message.delta message.completed");
}

#[tokio::test]
async fn an_error_that_will_not_pass_ends_the_loop() {
    let refused = ModelError::Refused {
        status: 401,
        message: "no such key".to_owned(),
    };
    let mut scripted = ScriptedLoop::new([Scripted::Error(refused)]);
    let error = scripted.run().await.unwrap_err();
    assert!(matches!(
        error,
        LoopError::Model(ModelError::Refused { .. })
    ));
}

#[tokio::test]
async fn a_call_that_would_exceed_the_budget_is_not_made() {
    let mut scripted = ScriptedLoop::new([]);
    scripted.limits.max_total_tokens = Some(100);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::MaxTotalTokens);
    assert!(scripted.requests().is_empty());
}

#[tokio::test]
async fn a_reply_that_is_cut_by_the_budget_is_reported_as_such() {
    let cut = message("cut", &[], StopReason::MaxTokens);
    let mut scripted = ScriptedLoop::new([Scripted::Reply(cut)]);
    scripted.limits.max_total_tokens = Some(3_000);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::MaxTotalTokens);
    let [(_, cap)] = scripted.requests()[..] else {
        panic!("one request")
    };
    assert!(cap < scripted.limits.max_tokens, "{cap}");
    assert!(scripted.logged().starts_with("budget.reserved "));
}

/// Returns two replies after which a window of 1,000 tokens is nearly full.
fn filling_a_window() -> [Scripted; 2] {
    let mut second = message("then", &["b"], StopReason::EndTurn);
    second.usage.input_tokens = 900;
    [
        reply(&"first ".repeat(300), &["a"]),
        Scripted::Reply(second),
    ]
}

#[tokio::test]
async fn a_transcript_that_fills_the_window_is_compacted() {
    let [first, nearly_full] = filling_a_window();
    let script = [
        first,
        nearly_full,
        reply("a summary", &[]),
        reply("done", &[]),
    ];
    let mut scripted = ScriptedLoop::new(script);
    scripted.context_window = Some(1_000);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert!(scripted.logged().contains("conversation.compacted"));
    // The prompt; the prompt and a turn with its results; the text to summarise; the rest with the summary.
    let lengths: Vec<_> = scripted.requests().iter().map(|it| it.0).collect();
    assert_eq!(lengths, [1, 3, 1, 3]);
}

#[tokio::test]
async fn a_summary_of_too_much_text_is_requested_again_of_half_of_it() {
    let exceeded = ModelError::ContextExceeded {
        window: None,
        message: "prompt is too long".to_owned(),
    };
    let [first, nearly_full] = filling_a_window();
    let script = [
        first,
        nearly_full,
        Scripted::Error(exceeded),
        reply("a summary", &[]),
        reply("done", &[]),
    ];
    let mut scripted = ScriptedLoop::new(script);
    scripted.context_window = Some(1_000);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert!(scripted.logged().contains("conversation.compacted"));
    assert_eq!(scripted.requests().len(), 5);
}

#[tokio::test]
async fn images_leave_a_full_window_before_anything_that_was_said() {
    let mut scripted = ScriptedLoop::new([reply("done", &[])]);
    let image = Media {
        name: "page".into(),
        content_type: "image/png".into(),
        data: Bytes::from_static(b"png"),
        pixels: Some(PixelSize {
            width: 1500,
            height: 1000,
        }),
    };
    let transcript = &mut scripted.transcript;
    transcript.add_reply(message("look", &["a"], StopReason::ToolUse));
    transcript.add_result_with_images("it".into(), false, vec![image]);
    let mut nearly_full = message("then", &["b"], StopReason::ToolUse);
    nearly_full.usage.input_tokens = 2_900;
    transcript.add_reply(nearly_full);
    transcript.add_result("b".into(), false);
    scripted.context_window = Some(3_000);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    let logged = scripted.logged();
    assert!(logged.starts_with("images.dropped "), "{logged}");
    assert!(!logged.contains("conversation.compacted"), "{logged}");
    assert_eq!(scripted.transcript.image_count(), 0);
}

/// Creates a loop whose job must return an array.
fn expecting(script: impl IntoIterator<Item = Scripted>, form: ResultForm) -> ScriptedLoop {
    let schema = Schema::compile(json!({"type": "array"})).unwrap();
    let mut scripted = ScriptedLoop::new(script);
    let expected = ExpectedResult::new(SubmitResult::new(schema), form);
    scripted.transcript.expect(expected);
    scripted
}

#[tokio::test]
async fn an_invalid_result_is_repaired() {
    let script = [reply("Done.", &[]), reply("{}", &[]), reply("[1]", &[])];
    let mut scripted = expecting(script, ResultForm::Message);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert_eq!(scripted.transcript.take_result(), Some(Ok(json!([1]))));
    // Each reply that is not the result is followed by a request to repair it.
    let lengths: Vec<_> = scripted.requests().iter().map(|it| it.0).collect();
    assert_eq!(lengths, [1, 3, 5]);
}

#[tokio::test]
async fn a_result_that_stays_invalid_ends_the_loop() {
    let script = (0..3).map(|_| reply("Done.", &[]));
    let mut scripted = expecting(script, ResultForm::Message);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    let problem = scripted.transcript.take_result().unwrap().unwrap_err();
    assert!(problem.contains("it is not JSON"), "{problem}");
}

#[tokio::test]
async fn a_submitted_result_ends_the_loop_after_the_other_calls() {
    let call = |tool: &str, input| ToolCall {
        call_id: tool.to_owned(),
        tool: tool.to_owned(),
        input,
        malformed: None,
    };
    let mut message = message("", &[], StopReason::ToolUse);
    let calls = [
        call(SubmitResult::NAME, json!({"result": [1]})),
        call("other", json!({})),
    ];
    message.content.extend(calls.map(Block::ToolCall));
    let mut scripted = expecting([Scripted::Reply(message)], ResultForm::Call);
    assert_eq!(scripted.run().await.unwrap(), LoopStop::EndTurn);
    assert_eq!(scripted.ran(), [SubmitResult::NAME, "other"]);
    assert_eq!(scripted.transcript.take_result(), Some(Ok(json!([1]))));
}
