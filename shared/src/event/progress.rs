//! The progress of a job, computed from its events.

use super::{AssetCreated, EventData, EventKind};
use crate::job::{JobResult, Output, UnconfirmedUsage, Usage};
use crate::message::{AssistantMessage, Tokens};

/// The maximum number of outputs of a job.
const MAX_OUTPUTS: usize = 50;

/// The result of a job so far, computed from its log.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The last non-empty text of the model.
    pub text: Option<String>,
    /// The usage so far.
    pub usage: Usage,
    /// The unconfirmed usage. While an attempt runs, the budget of the attempt tracks it.
    pub unconfirmed_usage: UnconfirmedUsage,
    /// The output files, with one entry for each path.
    pub outputs: Vec<AssetCreated>,
    /// The total size of all output files in bytes, including replaced ones.
    pub output_bytes: u64,
}

impl Progress {
    /// The types of events that [`Progress::add`] handles. Events of the type `tool.completed` are only counted, with
    /// a separate query.
    pub const TYPES: [EventKind; 5] = [
        EventKind::MessageCompleted,
        EventKind::AssetCreated,
        EventKind::ConversationCompacted,
        EventKind::BudgetReserved,
        EventKind::BudgetSettled,
    ];

    /// Adds an event of one of those types.
    pub fn add(&mut self, event: EventData) {
        match event {
            EventData::MessageCompleted(reply) => self.add_reply(&reply),
            EventData::AssetCreated(created) => {
                self.add_output(created);
            }
            EventData::ConversationCompacted(compacted) => {
                self.add_summary(&compacted.usage);
            }
            EventData::BudgetReserved(reservation) => self.unconfirmed_usage.reserve(reservation),
            EventData::BudgetSettled(settled) => self.add_settled(&settled.usage),
            _ => {}
        }
    }

    /// Adds the usage of a summary.
    pub fn add_summary(&mut self, used: &Tokens) {
        self.unconfirmed_usage.settle(used);
        self.usage.tokens += *used;
    }

    /// Adds the usage of a model call without a reply.
    pub fn add_settled(&mut self, used: &Tokens) {
        self.unconfirmed_usage.release();
        self.usage.tokens += *used;
    }

    /// Adds a model reply.
    pub fn add_reply(&mut self, reply: &AssistantMessage) {
        self.unconfirmed_usage.settle(&reply.usage);
        self.usage.tokens += reply.usage;
        self.usage.iterations += 1;
        let text = reply.text();
        if !text.trim().is_empty() {
            self.text = Some(text);
        }
    }

    /// Whether an output can be added: it has the path of another, or there are not too many.
    pub fn has_room_for(&self, created: &AssetCreated) -> bool {
        let mut outputs = self.outputs.iter();
        self.outputs.len() < MAX_OUTPUTS || outputs.any(|output| output.path == created.path)
    }

    /// Adds an output. An output with the same path is replaced. Returns `false` if there are too many outputs.
    pub fn add_output(&mut self, created: AssetCreated) -> bool {
        if !self.has_room_for(&created) {
            return false;
        }
        self.output_bytes += created.asset.size.unsigned_abs();
        let mut outputs = self.outputs.iter();
        match outputs.position(|output| output.path == created.path) {
            Some(place) => self.outputs[place] = created,
            None => self.outputs.push(created),
        }
        true
    }

    /// Turns the progress into the result of the job.
    pub fn into_result(self) -> JobResult {
        let outputs = self.outputs.into_iter().map(|created| Output {
            kind: created.kind,
            asset: created.asset,
        });
        JobResult {
            text: self.text,
            outputs: outputs.collect(),
            usage: Usage {
                presumed: self.unconfirmed_usage.total(),
                ..self.usage
            },
            ..JobResult::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::*;
    use crate::asset::{Asset, OutputKind};
    use crate::id::AssetId;

    fn created(path: &str, size: i64) -> AssetCreated {
        let id = AssetId::new();
        AssetCreated {
            kind: OutputKind::Document,
            path: path.to_owned(),
            asset: Asset {
                id,
                name: path.to_owned(),
                content_type: "text/plain".to_owned(),
                size,
                sha256: String::new(),
                created_at: Utc::now(),
                content_url: Asset::content_url(id),
            },
        }
    }

    #[test]
    fn a_replaced_output_still_counts_and_a_refused_one_does_not() {
        let mut progress = Progress::default();
        assert!(progress.add_output(created("a", 3)));
        assert!(progress.add_output(created("a", 4)));
        assert_eq!((progress.outputs.len(), progress.output_bytes), (1, 7));
        for number in 1..MAX_OUTPUTS {
            assert!(progress.add_output(created(&number.to_string(), 0)));
        }
        assert!(!progress.add_output(created("one too many", 5)));
        assert_eq!(progress.output_bytes, 7);
    }
}
