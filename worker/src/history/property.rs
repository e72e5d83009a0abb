//! Property tests of the transcript: both wire formats accept it after any replies and any loss of workers.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use shared::event::{ApprovalResolved, ApprovalStatus, ToolStarted};
use shared::id::ApprovalId;
use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};

use super::*;
use worker_model::Part;
use worker_model::wire_rules::Wire;

const MAX_ITERATIONS: u32 = 8;
const CLAUDE: &str = "anthropic/x";
const GPT: &str = "openai/y";

static WIRES: LazyLock<[Wire; 2]> = LazyLock::new(|| Wire::both(CLAUDE, GPT));

fn begun() -> Transcript {
    let mut transcript = Transcript::new(false);
    transcript.begin(JobId::new(), vec![Part::Text("go".into())]);
    transcript
}

/// A loop over given replies, with the log that it writes.
struct LoggedRun {
    transcript: Transcript,
    log: Vec<EventData>,
    replies: std::vec::IntoIter<AssistantMessage>,
}

impl LoggedRun {
    fn new(replies: Vec<AssistantMessage>) -> Self {
        Self {
            transcript: begun(),
            log: Vec::new(),
            replies: replies.into_iter(),
        }
    }

    /// Returns the same run after a crash that left the first `kept` entries of the log.
    fn resumed(mut self, kept: usize) -> Self {
        self.log.truncate(kept);
        self.transcript = begun();
        let events = self.log.clone();
        let history = History {
            events,
            restart: None,
            images: HashMap::new(),
        };
        let entries = history.replay(&mut self.transcript);
        self.log.extend(entries);
        self
    }

    /// Runs to the end. Both wire formats must accept each request.
    fn go(&mut self) -> Result<(), TestCaseError> {
        loop {
            while let Some(call) = self.transcript.next_call().cloned() {
                if self.transcript.is_stuck() {
                    return Ok(());
                }
                if call.input["path"] == "a" {
                    self.ask(&call);
                }
                self.execute(&call);
            }
            if self.transcript.stop(MAX_ITERATIONS).is_some() {
                return Ok(());
            }
            self.transcript.end_with_user_turn();
            for wire in &*WIRES {
                let faults = wire.faults(self.transcript.messages());
                prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
            }
            let Some(reply) = self.replies.next() else {
                return Ok(());
            };
            self.log.push(EventData::MessageCompleted(reply.clone()));
            self.transcript.add_reply(reply);
        }
    }

    /// Approves or denies the call, after which another worker takes over.
    fn ask(&mut self, call: &ToolCall) {
        if self.transcript.decision(&call.call_id).is_some() {
            return;
        }
        let decision = ApprovalResolved {
            approval_id: ApprovalId::new(),
            call_id: call.call_id.clone(),
            approved: call.call_id.ends_with('0'),
            status: ApprovalStatus::Approved,
            reason: None,
            resolved_by: None,
        };
        self.log.push(EventData::ApprovalResolved(decision));
        let replies = std::mem::take(&mut self.replies);
        let run = std::mem::replace(self, Self::new(Vec::new()));
        let kept = run.log.len();
        *self = run.resumed(kept);
        self.replies = replies;
    }

    fn execute(&mut self, call: &ToolCall) {
        let decision = self.transcript.decision(&call.call_id);
        let is_denied = decision.is_some_and(|decision| !decision.approved);
        self.log.push(EventData::ToolStarted(ToolStarted {
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            input: call.input.clone(),
        }));
        let is_error = is_denied || call.malformed.is_some();
        // The output of a tool may be empty.
        let output = if is_error { "not run" } else { "" };
        self.log.push(EventData::ToolCompleted(ToolCompleted {
            usage: None,
            call_id: call.call_id.clone(),
            outcome: match is_error {
                true if is_denied => ToolOutcome::Denied,
                true => ToolOutcome::Error,
                false => ToolOutcome::Ok,
            },
            output: output.to_owned(),
            exit_code: None,
            duration_ms: 1,
            truncated: false,
            images: Vec::new(),
        }));
        self.transcript.add_result(output.to_owned(), is_error);
    }
}

fn block() -> impl Strategy<Value = Block> {
    let text = prop::sample::select(vec!["", " \n", "hello", "Grüße 🙂"]);
    let form = prop::sample::select(vec![
        json!(null),
        json!({ "type": "thinking", "thinking": "hm", "signature": "s" }),
        json!({ "type": "redacted_thinking", "data": "x" }),
        json!({ "reasoning_content": "hm" }),
        json!({ "reasoning_details": [{ "type": "reasoning.text", "text": "hm" }] }),
    ]);
    let tool = prop::sample::select(vec!["file.read", "made up!", ""]);
    let input = prop::sample::select(vec![json!({}), json!({ "path": "a" })]);
    let cut = prop::option::of(Just("cut".to_owned()));
    prop_oneof![
        text.prop_map(|text| Block::Text { text: text.into() }),
        form.prop_map(|form| Block::Reasoning {
            text: "hm".into(),
            provider: Some(form).filter(|form| !form.is_null()),
        }),
        (tool, input, cut).prop_map(|(tool, input, malformed)| {
            Block::ToolCall(ToolCall {
                call_id: String::new(),
                tool: tool.into(),
                input,
                malformed,
            })
        }),
    ]
}

fn reply() -> impl Strategy<Value = AssistantMessage> {
    let reasons = prop::sample::select(vec![
        StopReason::EndTurn,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::ContextFull,
        StopReason::Paused,
        StopReason::Refusal,
        StopReason::Other,
    ]);
    let models = prop::sample::select(vec![CLAUDE, GPT, "other/z"]);
    (vec(block(), 0..5), reasons, models).prop_map(|(content, stop_reason, model)| {
        AssistantMessage {
            content,
            stop_reason,
            usage: Tokens::default(),
            model: model.into(),
        }
    })
}

/// Generates replies whose calls have unique ids. Some ids are accepted only by their own provider.
fn replies() -> impl Strategy<Value = Vec<AssistantMessage>> {
    vec(reply(), 0..9).prop_map(|mut replies| {
        for (turn, reply) in replies.iter_mut().enumerate() {
            let is_own = [CLAUDE, GPT].contains(&reply.model.as_str());
            for (position, block) in reply.content.iter_mut().enumerate() {
                if let Block::ToolCall(call) = block {
                    let separator = if is_own { "_" } else { ":" };
                    call.call_id = format!("call{separator}{turn}{separator}{position}");
                }
            }
        }
        replies
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_wires_take_every_transcript_also_after_crashes(
        replies in replies(),
        cuts in vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut run = LoggedRun::new(replies);
        run.go()?;
        for cut in cuts {
            let kept = cut.index(run.log.len() + 1);
            let lost: Vec<_> = run.log[kept..].to_vec();
            // The lost replies are requested again.
            let again = lost.into_iter().filter_map(|event| match event {
                EventData::MessageCompleted(reply) => Some(reply),
                _ => None,
            });
            run.replies = again.chain(run.replies).collect::<Vec<_>>().into_iter();
            run = run.resumed(kept);
            run.go()?;
        }
    }

    #[test]
    fn a_worker_that_takes_over_stands_where_the_lost_one_stood(replies in replies()) {
        let mut run = LoggedRun::new(replies);
        run.go()?;
        let before = format!("{:?}", run.transcript.progress.usage);
        let (text, stop) = (run.transcript.progress.text.clone(), run.transcript.stop(MAX_ITERATIONS));
        let kept = run.log.len();
        let run = run.resumed(kept);
        prop_assert_eq!(format!("{:?}", run.transcript.progress.usage), before);
        prop_assert_eq!(&run.transcript.progress.text, &text);
        prop_assert_eq!(run.transcript.stop(MAX_ITERATIONS), stop);
    }
}
