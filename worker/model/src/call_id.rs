//! The ids of calls: unique within the job, and on the wire such as every provider takes.

use std::collections::{HashMap, HashSet};

use crate::ModelMessage;

/// Makes the ids of a reply's calls unique within the job, as some servers send none, or the same again.
pub(super) struct CallIds {
    taken: HashSet<String>,
    turn: usize,
}

impl CallIds {
    /// With the ids of this transcript taken.
    pub(super) fn after(messages: &[ModelMessage]) -> Self {
        Self {
            taken: ids(messages, |_| true).map(str::to_owned).collect(),
            turn: messages.len(),
        }
    }

    /// The id that was wanted if it can be had, for the call at this position of the reply.
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

/// The ids under which the calls of a transcript go to one model. Its own go back as they came, and
/// those of other models get new ones: nine letters and digits, which is all that Mistral takes, and
/// no provider takes less.
pub(super) struct WireIds<'a>(HashMap<&'a str, String>);

impl<'a> WireIds<'a> {
    /// The ids for the model called `name`.
    pub(super) fn of(messages: &'a [ModelMessage], name: &str) -> Self {
        let own: HashSet<&str> = ids(messages, |model| model == name).collect();
        let mut free = (1..)
            .map(|number| format!("call{number:05}"))
            .filter(|id| !own.contains(id.as_str()));
        let foreign = ids(messages, |model| model != name).filter(|id| !own.contains(id));
        Self(foreign.zip(&mut free).collect())
    }

    /// The id to send.
    pub(super) fn to_wire<'b>(&'b self, id: &'b str) -> &'b str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

/// The ids of the calls of those models.
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
