use super::{JobResult, Output, Presumptions, Usage};
use crate::event::{AssetCreated, EventData};
use crate::message::{AssistantMessage, Tokens};

/// The most outputs of a job.
const MAX_OUTPUTS: usize = 50;

/// What a job has come to so far: what its log adds up to, and its result if it ended now.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The last text of the assistant that was not empty.
    pub text: Option<String>,
    /// What it has used.
    pub usage: Usage,
    /// What counts as used beside that. While an attempt runs, its budget has it.
    pub presumptions: Presumptions,
    /// The files that it has made, each path once.
    pub outputs: Vec<AssetCreated>,
}

impl Progress {
    /// The types of events that add to it, but for `tool.completed`, which are only counted.
    pub const TYPES: [&str; 5] = [
        "message.completed",
        "asset.created",
        "conversation.compacted",
        "budget.reserved",
        "budget.settled",
    ];

    /// Adds what an event of one of those types says.
    pub fn add(&mut self, event: EventData) {
        match event {
            EventData::MessageCompleted(reply) => self.add_reply(&reply),
            EventData::AssetCreated(created) => {
                self.add_output(created);
            }
            EventData::ConversationCompacted(compacted) => {
                self.add_summary(&compacted.usage);
            }
            EventData::BudgetReserved(reservation) => self.presumptions.reserve(reservation),
            EventData::BudgetSettled(settled) => self.add_settled(&settled.usage),
            _ => {}
        }
    }

    /// Adds what a summary has used.
    pub fn add_summary(&mut self, used: &Tokens) {
        self.presumptions.settle(used);
        self.usage.tokens += *used;
    }

    /// Adds what a call has used that led to nothing.
    pub fn add_settled(&mut self, used: &Tokens) {
        self.presumptions.release();
        self.usage.tokens += *used;
    }

    /// Adds a reply.
    pub fn add_reply(&mut self, reply: &AssistantMessage) {
        self.presumptions.settle(&reply.usage);
        self.usage.tokens += reply.usage;
        self.usage.iterations += 1;
        let text = reply.text();
        if !text.trim().is_empty() {
            self.text = Some(text);
        }
    }

    /// Adds an output; one of the same path replaces. `false` if there are too many.
    pub fn add_output(&mut self, created: AssetCreated) -> bool {
        let mut outputs = self.outputs.iter();
        match outputs.position(|output| output.path == created.path) {
            Some(place) => self.outputs[place] = created,
            None if self.outputs.len() < MAX_OUTPUTS => self.outputs.push(created),
            None => return false,
        }
        true
    }

    /// The result of a job that has come so far.
    pub fn into_result(self) -> JobResult {
        let outputs = self.outputs.into_iter().map(|created| Output {
            output: created.output,
            asset: created.asset,
        });
        JobResult {
            text: self.text,
            outputs: outputs.collect(),
            usage: Usage {
                presumed: self.presumptions.total(),
                ..self.usage
            },
            ..JobResult::default()
        }
    }
}
