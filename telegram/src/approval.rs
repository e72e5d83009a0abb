//! Messages that ask for an approval, and their buttons.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use skillet_client::types::approval::Approval;
use skillet_client::types::event::ApprovalStatus;
use skillet_client::types::id::ApprovalId;
use uuid::Uuid;

use crate::progress::input_text;
use crate::rich_text::RichText;
use crate::split::shorten;

/// The maximum number of characters of the input that are shown.
const INPUT_CHARS: usize = 3000;

/// A button of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalButton {
    Allow,
    Deny,
    DenyBecause,
}

impl ApprovalButton {
    const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Allow, "a", "✅ Allow"),
        (Self::Deny, "d", "⛔ Deny"),
        (Self::DenyBecause, "r", "Deny, because…"),
    ];

    /// Parses the data of a tap: a letter and the approval id.
    pub(crate) fn parse(data: &str) -> Option<(Self, ApprovalId)> {
        let mut buttons = Self::ALL.into_iter();
        let (button, rest) =
            buttons.find_map(|(button, letter, _)| Some((button, data.strip_prefix(letter)?)))?;
        let bytes = URL_SAFE_NO_PAD.decode(rest).ok()?;
        Some((button, Uuid::from_slice(&bytes).ok()?.into()))
    }
}

/// A tool call that waits for approval, as its message shows it.
#[derive(Clone, Debug)]
pub(crate) struct AskedCall {
    pub(crate) id: ApprovalId,
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) expires_at: DateTime<Utc>,
}

impl AskedCall {
    /// Returns the tool call of an approval.
    pub(crate) fn of(approval: Approval) -> Self {
        Self {
            id: approval.id,
            tool: approval.tool,
            input: approval.input,
            expires_at: approval.expires_at,
        }
    }

    /// The text while the approval is pending.
    pub(crate) fn text(&self, now: DateTime<Utc>) -> RichText {
        let left = (self.expires_at - now).to_std().unwrap_or_default();
        let left = format!(
            "\nTime left: {}. After that, it is denied.",
            time_left(left)
        );
        let mut text = RichText::default()
            .text("✋ May I run ")
            .bold(&shorten(&self.tool, 100));
        text = text.text("?\n");
        text.append(self.shown_input());
        text.text(&left)
    }

    /// The text after the end of the approval.
    pub(crate) fn ended_text(&self, outcome: &str) -> RichText {
        let mut text = RichText::default()
            .text("✋ ")
            .bold(&shorten(&self.tool, 100))
            .text("\n");
        text.append(self.shown_input());
        text.text("\n").bold(outcome)
    }

    /// The buttons.
    pub(crate) fn buttons(&self) -> Value {
        let id = URL_SAFE_NO_PAD.encode(self.id.0.as_bytes());
        let [allow, deny, because] = ApprovalButton::ALL.map(
            |(_, letter, label)| json!({"text": label, "callback_data": format!("{letter}{id}")}),
        );
        json!({"inline_keyboard": [[allow, deny], [because]]})
    }

    fn shown_input(&self) -> RichText {
        RichText::code_block(&shorten(&input_text(&self.input), INPUT_CHARS))
    }
}

/// An empty keyboard, which removes the buttons.
pub(crate) fn no_buttons() -> Value {
    json!({"inline_keyboard": []})
}

/// Describes the outcome of an approval.
pub(crate) fn outcome_text(
    status: ApprovalStatus,
    reason: Option<&str>,
    by: Option<&str>,
) -> String {
    let word = match status {
        ApprovalStatus::Approved => "✅ Allowed",
        ApprovalStatus::Denied => "⛔ Denied",
        ApprovalStatus::Expired => "⌛ Expired, so it was denied",
        ApprovalStatus::Cancelled => "⏹ The job has ended",
        ApprovalStatus::Pending => "Waiting",
    };
    let reason = reason.map(|reason| format!(": {}", shorten(reason, 500)));
    let by = by.map(|by| format!(" (key {})", shorten(by, 60)));
    let by = by.filter(|_| reason.is_none());
    format!(
        "{word}{}{}",
        reason.unwrap_or_default(),
        by.unwrap_or_default()
    )
}

/// The question for a reason. It contains the approval id, which identifies the approval when the reply arrives.
pub(crate) fn reason_question(approval: ApprovalId) -> RichText {
    let text = "Why not? Reply to this message, and the reason goes to the model.\n";
    RichText::plain(text).code(&approval.to_string())
}

/// Returns the approval to which a question for a reason belongs.
pub(crate) fn asked_approval(question: &str) -> Option<ApprovalId> {
    question.split_whitespace().last()?.parse().ok()
}

/// The markup that makes clients reply to the question for a reason.
pub(crate) fn reason_markup() -> Value {
    json!({"force_reply": true, "selective": true, "input_field_placeholder": "The reason"})
}

/// Formats a duration. Long durations are rounded more coarsely, so that the message rarely changes.
fn time_left(left: Duration) -> String {
    let minutes = left.as_secs().div_ceil(60);
    match minutes {
        0 => "less than a minute".to_owned(),
        1..10 => format!("{minutes} min"),
        10..120 => format!("{} min", minutes.div_ceil(10) * 10),
        _ => format!("{} h", minutes.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(input: Value) -> AskedCall {
        AskedCall {
            id: Uuid::from_u128(7).into(),
            tool: "shell.exec".to_owned(),
            input,
            expires_at: "2026-01-02T00:00:00Z".parse().unwrap(),
        }
    }

    #[test]
    fn a_tap_names_the_verb_and_the_approval() {
        let asked = asked(json!({}));
        let rows = asked.buttons()["inline_keyboard"].clone();
        let datas = [&rows[0][0], &rows[0][1], &rows[1][0]].map(|it| it["callback_data"].clone());
        for (data, (button, ..)) in datas.iter().zip(ApprovalButton::ALL) {
            let data = data.as_str().unwrap();
            assert!(data.len() <= 64);
            assert_eq!(ApprovalButton::parse(data), Some((button, asked.id)));
        }
        for wrong in ["", "a", "x", "aAAAA", "zAAAAAAAAAAAAAAAAAAAAAA", "ä"] {
            assert_eq!(ApprovalButton::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_longest_input_fits_into_a_message() {
        let asked = asked(json!({"command": "🥖<".repeat(5000)}));
        let text = asked.text("2026-01-01T00:00:30Z".parse().unwrap());
        assert!(text.length() < 4096);
        assert!(
            text.plain_text()
                .ends_with("Time left: 24 h. After that, it is denied.")
        );
        let ended = outcome_text(ApprovalStatus::Denied, Some(&"x".repeat(2000)), Some("ci"));
        assert!(asked.ended_text(&ended).length() < 4096);
    }

    #[test]
    fn the_question_for_a_reason_names_the_approval() {
        let id = asked(json!({})).id;
        let question = reason_question(id).plain_text();
        assert_eq!(asked_approval(&question), Some(id));
        assert_eq!(asked_approval("Why not?"), None);
    }

    #[test]
    fn the_time_left_changes_seldom() {
        let text = |seconds| time_left(Duration::from_secs(seconds));
        assert_eq!(
            [0, 1, 60, 541, 700, 7199, 7200, 86_340].map(text),
            [
                "less than a minute",
                "1 min",
                "1 min",
                "10 min",
                "20 min",
                "2 h",
                "2 h",
                "24 h"
            ]
        );
    }

    #[test]
    fn the_outcome_says_who_or_why() {
        let text = outcome_text(ApprovalStatus::Approved, None, Some("ci"));
        assert_eq!(text, "✅ Allowed (key ci)");
        let text = outcome_text(ApprovalStatus::Denied, Some("too risky"), Some("ci"));
        assert_eq!(text, "⛔ Denied: too risky");
    }
}
