//! Redaction of events and results.

use shared::event::EventData;
use shared::job::JobResult;
use shared::message::{AssistantMessage, Block};

use super::Redactor;

impl Redactor {
    /// Redacts an event in place. Ids, codes and numbers come from this service or the provider, so they stay.
    pub fn clean_event(&self, event: &mut EventData) {
        match event {
            EventData::JobQueued(_)
            | EventData::JobStarted(_)
            | EventData::BudgetReserved(_)
            | EventData::BudgetSettled(_)
            | EventData::WorkspaceSaved(_)
            | EventData::ImagesDropped(_)
            | EventData::LogTrimmed(_)
            | EventData::JobWaiting(_)
            | EventData::JobResumed(_) => {}
            EventData::MessageDelta(delta) | EventData::ReasoningDelta(delta) => {
                self.clean(&mut delta.text);
            }
            EventData::MessageCompleted(message) => self.clean_message(message),
            EventData::ToolStarted(started) => {
                self.clean(&mut started.tool);
                self.clean_json(&mut started.input);
            }
            EventData::ToolOutput(output) => self.clean(&mut output.text),
            EventData::ToolCompleted(completed) => {
                self.clean(&mut completed.output);
                let names = completed.images.iter_mut().map(|image| &mut image.name);
                names.for_each(|name| self.clean(name));
            }
            EventData::ApprovalRequested(requested) => {
                self.clean(&mut requested.tool);
                self.clean_json(&mut requested.input);
            }
            EventData::ApprovalResolved(resolved) => {
                resolved
                    .reason
                    .iter_mut()
                    .for_each(|reason| self.clean(reason));
            }
            EventData::AssetCreated(created) => {
                self.clean(&mut created.path);
                self.clean(&mut created.asset.name);
            }
            EventData::AssetRejected(rejected) => self.clean(&mut rejected.path),
            EventData::ConversationCompacted(compacted) => self.clean(&mut compacted.summary),
            EventData::Log(line) => self.clean(&mut line.message),
            EventData::JobRetrying(retrying) => self.clean(&mut retrying.message),
            EventData::JobCompleted(job)
            | EventData::JobFailed(job)
            | EventData::JobCancelled(job) => {
                self.clean_result(&mut job.result);
                self.clean_fields(&mut job.metadata);
            }
        }
    }

    fn clean_message(&self, message: &mut AssistantMessage) {
        for block in &mut message.content {
            match block {
                Block::Text { text } => self.clean(text),
                Block::Reasoning { text, provider } => {
                    self.clean(text);
                    // The provider has signed this data and would refuse a changed version.
                    if provider.as_mut().is_some_and(|own| self.clean_json(own)) {
                        *provider = None;
                    }
                }
                Block::ToolCall(call) => {
                    self.clean(&mut call.tool);
                    self.clean_json(&mut call.input);
                    if let Some(problem) = &mut call.malformed {
                        self.clean(problem);
                    }
                }
            }
        }
    }

    /// Redacts the result of a job.
    pub fn clean_result(&self, result: &mut JobResult) {
        let JobResult {
            text,
            result,
            outputs,
            stop_reason: _,
            error,
            usage: _,
            warnings,
        } = result;
        let names = outputs.iter_mut().map(|output| &mut output.asset.name);
        let messages = error.iter_mut().map(|error| &mut error.message);
        let texts = text.iter_mut().chain(names).chain(messages).chain(warnings);
        texts.for_each(|text| self.clean(text));
        if let Some(result) = result {
            self.clean_json(result);
        }
    }
}
