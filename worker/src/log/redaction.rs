//! Redaction of the events of one log before they are written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use shared::db::log::RunTransition;
use shared::event::{EventData, OutputStream, TextDelta, ToolOutput};
use shared::job::JobResult;

use worker_workspace::{Redactor, Tail};

/// Redacts the events of one log. If a text arrives in pieces, an end that may be the start of a secret is held back
/// until the text continues or ends.
pub(super) struct EventRedactor {
    pub(super) redactor: Arc<Redactor>,
    held: Mutex<HeldTails>,
}

/// The ends of incomplete texts that are held back.
#[derive(Default)]
struct HeldTails {
    message: Tail,
    reasoning: Tail,
    outputs: HashMap<(String, OutputStream), Tail>,
}

impl EventRedactor {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            held: Mutex::default(),
        }
    }

    /// Returns the part of these events that can be written now, redacted.
    pub(super) fn redact(&self, events: Vec<EventData>) -> Vec<EventData> {
        // No tail is ever left partially changed, so a poisoned lock can be used.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut passed = Vec::with_capacity(events.len());
        for event in events {
            match event {
                EventData::MessageDelta(TextDelta { text }) => {
                    let text = self.redactor.push(&mut held.message, &text);
                    passed.extend(delta(text, EventData::MessageDelta));
                }
                EventData::ReasoningDelta(TextDelta { text }) => {
                    let text = self.redactor.push(&mut held.reasoning, &text);
                    passed.extend(delta(text, EventData::ReasoningDelta));
                }
                EventData::ToolOutput(ToolOutput {
                    call_id,
                    stream,
                    text,
                }) => {
                    let tail = held.outputs.entry((call_id.clone(), stream)).or_default();
                    let text = self.redactor.push(tail, &text);
                    passed.extend(output(call_id, stream, text));
                }
                mut event => {
                    self.release(&mut held, &event, &mut passed);
                    self.redactor.clean_event(&mut event);
                    passed.push(event);
                }
            }
        }
        passed
    }

    /// Returns the transition of the run, with a redacted result.
    pub(super) fn redact_transition(&self, next: RunTransition) -> RunTransition {
        let RunTransition::Finish {
            outcome,
            at,
            result,
            skill_digest,
        } = next
        else {
            return next;
        };
        let mut parsed: JobResult =
            serde_json::from_str(&result).expect("results are not deeply nested");
        self.redactor.clean_result(&mut parsed);
        RunTransition::Finish {
            outcome,
            at,
            result: serde_json::to_string(&parsed).expect("results have string keys"),
            skill_digest,
        }
    }

    /// Releases the rest of the texts that end with the event.
    fn release(&self, held: &mut HeldTails, event: &EventData, passed: &mut Vec<EventData>) {
        let ends_attempt = matches!(
            event,
            EventData::JobRetrying(_)
                | EventData::JobWaiting(_)
                | EventData::JobCompleted(_)
                | EventData::JobFailed(_)
                | EventData::JobCancelled(_)
        );
        if ends_attempt || matches!(event, EventData::MessageCompleted(_)) {
            let rest = self.redactor.finish(std::mem::take(&mut held.reasoning));
            passed.extend(delta(rest, EventData::ReasoningDelta));
            let rest = self.redactor.finish(std::mem::take(&mut held.message));
            passed.extend(delta(rest, EventData::MessageDelta));
        }
        let ends = |call_id: &str| match event {
            EventData::ToolCompleted(completed) => completed.call_id == call_id,
            _ => ends_attempt,
        };
        let mut ended: Vec<_> = held
            .outputs
            .extract_if(|(call_id, _), _| ends(call_id))
            .collect();
        ended.sort_by_key(|((_, stream), _)| *stream == OutputStream::Stderr);
        for ((call_id, stream), tail) in ended {
            let rest = self.redactor.finish(tail);
            passed.extend(output(call_id, stream, rest));
        }
    }
}

fn delta(text: String, kind: fn(TextDelta) -> EventData) -> Option<EventData> {
    (!text.is_empty()).then(|| kind(TextDelta { text }))
}

fn output(call_id: String, stream: OutputStream, text: String) -> Option<EventData> {
    let output = |text| {
        EventData::ToolOutput(ToolOutput {
            call_id,
            stream,
            text,
        })
    };
    (!text.is_empty()).then(|| output(text))
}

#[cfg(test)]
mod tests {
    use shared::event::{ToolCompleted, ToolOutcome};

    use super::*;

    fn redactor() -> EventRedactor {
        let secrets = [("KEY", "0123456789")].into_iter();
        EventRedactor::new(Arc::new(Redactor::new(secrets)))
    }

    fn says(text: &str) -> EventData {
        let text = text.to_owned();
        EventData::MessageDelta(TextDelta { text })
    }

    fn thinks(text: &str) -> EventData {
        let text = text.to_owned();
        EventData::ReasoningDelta(TextDelta { text })
    }

    fn prints(call_id: &str, stream: OutputStream, text: &str) -> EventData {
        EventData::ToolOutput(ToolOutput {
            call_id: call_id.to_owned(),
            stream,
            text: text.to_owned(),
        })
    }

    fn completes(call_id: &str) -> EventData {
        EventData::ToolCompleted(ToolCompleted {
            call_id: call_id.to_owned(),
            outcome: ToolOutcome::Ok,
            output: "0123456789".to_owned(),
            exit_code: None,
            duration_ms: 0,
            truncated: false,
            usage: None,
            images: Vec::new(),
        })
    }

    fn stored(events: &[EventData]) -> Vec<String> {
        let stored = events.iter().map(EventData::to_stored);
        stored
            .map(|(kind, data)| format!("{kind} {data}"))
            .collect()
    }

    #[test]
    fn each_text_waits_for_its_own_rest() {
        let redactor = redactor();
        let events = vec![
            says("a 01234"),
            thinks("b 0123"),
            says("56789."),
            thinks("x"),
        ];
        let expected = [
            r#"message.delta {"text":"a "}"#,
            r#"reasoning.delta {"text":"b "}"#,
            r#"message.delta {"text":"[secret KEY]."}"#,
            r#"reasoning.delta {"text":"0123x"}"#,
        ];
        assert_eq!(stored(&redactor.redact(events)), expected);
        assert!(redactor.redact(vec![says("0"), says("1")]).is_empty());
    }

    #[test]
    fn what_is_held_back_comes_before_the_end_of_its_text() {
        let redactor = redactor();
        let (out, err) = (OutputStream::Stdout, OutputStream::Stderr);
        let events = vec![
            prints("one", err, "0123"),
            prints("one", out, "01234"),
            prints("two", out, "012"),
            completes("one"),
        ];
        let passed = stored(&redactor.redact(events));
        assert_eq!(passed.len(), 3, "{passed:#?}");
        assert!(
            passed[0].contains(r#""stdout","text":"01234""#),
            "{passed:#?}"
        );
        assert!(
            passed[1].contains(r#""stderr","text":"0123""#),
            "{passed:#?}"
        );
        assert!(passed[2].contains("[secret KEY]"), "{passed:#?}");

        assert!(redactor.redact(vec![says("0123")]).is_empty());
        let retrying = EventData::JobRetrying(shared::event::JobRetrying {
            cause: shared::event::RetryCause::Drain,
            message: "0123456789".to_owned(),
            run_at: chrono::DateTime::UNIX_EPOCH,
        });
        let passed = stored(&redactor.redact(vec![retrying]));
        assert_eq!(passed.len(), 3, "{passed:#?}");
        assert_eq!(passed[0], r#"message.delta {"text":"0123"}"#);
        assert!(passed[1].contains(r#""two""#) && passed[1].contains(r#""text":"012""#));
        assert!(passed[2].contains("[secret KEY]"), "{passed:#?}");
    }
}
