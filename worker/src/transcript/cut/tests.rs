//! Tests of cuts and summaries.

use serde_json::json;
use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};

use super::*;

/// Returns a reply of about `tokens` tokens, with the given call, if any.
fn reply(text: &str, tokens: usize, call: Option<&str>) -> AssistantMessage {
    let mut content = vec![Block::Text {
        text: format!("{text} {}", "x".repeat(4 * tokens)),
    }];
    content.extend(call.map(|id| {
        Block::ToolCall(ToolCall {
            call_id: id.to_owned(),
            tool: "shell.exec".to_owned(),
            input: json!({}),
            malformed: None,
        })
    }));
    AssistantMessage {
        content,
        stop_reason: StopReason::EndTurn,
        usage: Tokens::default(),
        model: "m".to_owned(),
    }
}

fn says(text: &str) -> Vec<Part> {
    vec![Part::Text(text.to_owned())]
}

/// Returns the messages, each by its first word.
fn shown(transcript: &Transcript) -> Vec<String> {
    let first = |text: &str| text.split_whitespace().next().unwrap_or("").to_owned();
    let messages = transcript.messages().iter().map(|message| match message {
        ModelMessage::Assistant(reply) => first(&reply.text()),
        ModelMessage::User(parts) => {
            let parts = parts.iter().map(|part| match part {
                Part::Text(text) => first(text.trim_start_matches(ABOUT_SUMMARY)),
                Part::ToolResult(result) => format!("={}", result.call_id),
                Part::Media(_) => "media".to_owned(),
            });
            parts.collect::<Vec<_>>().join("+")
        }
    });
    messages.collect()
}

/// Creates a transcript of two jobs. The first has two turns. The second has a complete turn
/// and the results of another.
fn two_jobs(first: JobId, second: JobId) -> Transcript {
    let mut transcript = Transcript::new(false);
    transcript.begin(first, says("one"));
    transcript.add_reply(reply("a", 100, Some("c1")));
    transcript.add_result("done".to_owned(), false);
    transcript.add_reply(reply("b", 100, None));
    transcript.begin(second, says("two"));
    transcript.add_reply(reply("c", 100, Some("c2")));
    transcript.add_result("done".to_owned(), false);
    transcript.add_reply(reply("d", 100, Some("c3")));
    transcript.add_result("done".to_owned(), false);
    transcript
}

#[test]
fn what_is_left_begins_with_the_summary_and_the_prompt_of_the_job_that_was_cut() {
    let (first, second) = (JobId::new(), JobId::new());
    let whole = ["one", "a", "=c1", "b", "two", "c", "=c2", "d", "=c3"];
    assert_eq!(shown(&two_jobs(first, second)), whole);
    for (keep, job, from_end, left) in [
        (150, second, 1, &["S+two", "d", "=c3"][..]),
        (300, second, 2, &["S+two", "c", "=c2", "d", "=c3"]),
        (
            450,
            first,
            1,
            &["S+one", "b", "two", "c", "=c2", "d", "=c3"],
        ),
        // The last turn stays, however large it is.
        (0, second, 1, &["S+two", "d", "=c3"]),
    ] {
        let mut transcript = two_jobs(first, second);
        let cut = transcript.cut(keep).unwrap();
        assert_eq!((cut.job, cut.from_end), (job, from_end), "{keep}");
        transcript.compact(cut, "S");
        assert_eq!(shown(&transcript), left, "{keep}");
        // The positions of the remaining messages are known, so the transcript can be cut again.
        transcript.add_reply(reply("e", 100, None));
        let again = transcript.cut(50).unwrap();
        assert_eq!((again.job, again.from_end), (second, 1), "{keep}");
    }
}

#[test]
fn there_is_nothing_to_cut_in_a_single_turn() {
    let mut transcript = Transcript::new(false);
    transcript.begin(JobId::new(), says("one"));
    assert_eq!(transcript.cut(10), None);
    transcript.add_reply(reply("a", 100, Some("c1")));
    transcript.add_result("done".to_owned(), false);
    assert_eq!(transcript.cut(10), None);
    assert_eq!(transcript.cut(10_000), None);
}

#[test]
fn what_a_reply_has_read_counts_until_it_is_summarised() {
    let (first, second) = (JobId::new(), JobId::new());
    let mut transcript = two_jobs(first, second);
    assert!(
        (400..500).contains(&transcript.tokens()),
        "{}",
        transcript.tokens()
    );
    let mut large = reply("e", 0, None);
    large.usage = Tokens {
        input_tokens: 5_000,
        output_tokens: 7,
        ..Tokens::default()
    };
    transcript.add_reply(large);
    assert_eq!(transcript.tokens(), 5_007);
    transcript.begin(first, says(&"x".repeat(400)));
    assert_eq!(transcript.tokens(), 5_107);
    let cut = transcript.cut(250).unwrap();
    transcript.compact(cut, "S");
    assert!(
        (200..300).contains(&transcript.tokens()),
        "{}",
        transcript.tokens()
    );
}

#[test]
fn a_job_that_ended_without_a_reply_and_the_next_speak_in_one_message() {
    let mut transcript = Transcript::new(false);
    transcript.begin(JobId::new(), says("one"));
    transcript.begin(JobId::new(), says("two"));
    assert_eq!(shown(&transcript), ["one+two"]);
    transcript.add_reply(reply("a", 1, Some("c1")));
    transcript.begin(JobId::new(), says("three"));
    assert_eq!(shown(&transcript), ["one+two", "a", "=c1+three"]);
    let cut = transcript.cut(0);
    assert_eq!(cut, None, "there is but one reply");
    transcript.render_calls_as_text();
    transcript.begin(JobId::new(), says("four"));
    assert_eq!(shown(&transcript), ["PERSON:+four"]);
}
