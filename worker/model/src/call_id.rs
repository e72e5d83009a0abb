//! The ids of calls: unique within the job, and accepted by every provider on the wire.

use std::collections::{HashMap, HashSet};

use crate::ModelMessage;

/// Makes the ids of a reply's calls unique within the job, because some servers send no ids or the same ids again.
pub(super) struct CallIds {
    taken: HashSet<String>,
    turn: usize,
}

impl CallIds {
    /// Creates the ids after a transcript, whose ids are taken.
    pub(super) fn after(messages: &[ModelMessage]) -> Self {
        Self {
            taken: ids(messages, |_| true).map(str::to_owned).collect(),
            turn: messages.len(),
        }
    }

    /// Returns `wanted` if it is free, or else a new id. `position` is the position of the call in the reply.
    pub(super) fn unique(&mut self, wanted: String, position: usize) -> String {
        let mut id = wanted;
        let mut position = position;
        while id.is_empty() || self.taken.contains(&id) {
            id = format!("call_{}_{position}", self.turn);
            position += 1;
        }
        self.taken.insert(id.clone());
        id
    }
}

/// The ids under which the calls of a transcript are sent to one model. The model's own ids are sent
/// unchanged. Ids of other models are replaced by nine letters and digits. This is the only form that Mistral
/// accepts, and all providers accept it.
pub(super) struct WireIds<'a>(HashMap<&'a str, String>);

impl<'a> WireIds<'a> {
    /// Creates the ids for the model `name`.
    pub(super) fn of(messages: &'a [ModelMessage], name: &str) -> Self {
        let own: HashSet<&str> = ids(messages, |model| model == name).collect();
        let mut free = (1..)
            .map(|number| format!("call{number:05}"))
            .filter(|id| !own.contains(id.as_str()));
        let foreign = ids(messages, |model| model != name).filter(|id| !own.contains(id));
        Self(foreign.zip(&mut free).collect())
    }

    /// Returns the id to send.
    pub(super) fn to_wire<'b>(&'b self, id: &'b str) -> &'b str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

/// Returns the ids of the calls of the matching models.
fn ids(messages: &[ModelMessage], is_meant: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let replies = messages.iter().filter_map(move |message| match message {
        ModelMessage::Assistant(reply) => is_meant(&reply.model).then_some(reply),
        ModelMessage::User(_) => None,
    });
    let calls = replies.flat_map(|reply| reply.tool_calls());
    calls.map(|call| call.call_id.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};

    use super::*;

    fn reply(model: &str, ids: &[&str]) -> ModelMessage {
        let calls = ids.iter().map(|id| {
            Block::ToolCall(ToolCall {
                call_id: (*id).into(),
                tool: "a".into(),
                input: json!({}),
                malformed: None,
            })
        });
        ModelMessage::Assistant(AssistantMessage {
            content: calls.collect(),
            stop_reason: StopReason::ToolUse,
            usage: Tokens::default(),
            model: model.into(),
        })
    }

    #[test]
    fn an_id_that_is_missing_or_taken_is_replaced() {
        let messages = [ModelMessage::User(Vec::new()), reply("x/a", &["one"])];
        let mut ids = CallIds::after(&messages);
        let made = ["two", "two", "one", "", "call_2_1"].map(|id| ids.unique(id.into(), 0));
        assert_eq!(
            made,
            ["two", "call_2_0", "call_2_1", "call_2_2", "call_2_3"]
        );
    }

    #[test]
    fn only_the_calls_of_other_models_are_renamed_and_none_to_a_name_in_use() {
        let messages = [
            reply("x/a", &["functions.run:0", "call00002"]),
            reply("y/b", &["toolu_1", "toolu_2"]),
        ];
        let ids = WireIds::of(&messages, "x/a");
        let sent = ["functions.run:0", "call00002", "toolu_1", "toolu_2"].map(|id| ids.to_wire(id));
        let expected = ["functions.run:0", "call00002", "call00001", "call00003"];
        assert_eq!(sent, expected);
    }
}
