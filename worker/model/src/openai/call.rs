//! Incomplete calls, assembled from pieces that some servers do not number.

use serde_json::{Map, Value};
use shared::message::ToolCall;

use super::chunk::CallDelta;
use crate::arguments;
use crate::call_id::CallIds;
use crate::name::ToolNames;

/// The calls of one reply, in order.
#[derive(Default)]
pub(super) struct Calls {
    drafts: Vec<CallDraft>,
}

#[derive(Default)]
struct CallDraft {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra_content: Option<Value>,
}

impl Calls {
    /// Returns the number of calls.
    pub(super) fn len(&self) -> usize {
        self.drafts.len()
    }

    /// Adds a piece, which may start another call.
    pub(super) fn take(&mut self, delta: CallDelta) {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = match function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(object) => object.to_string(),
        };
        let position = self.position(delta.index, &id, &name, &arguments);
        let position = position.unwrap_or_else(|| {
            self.drafts.push(CallDraft {
                index: delta.index,
                ..CallDraft::default()
            });
            self.drafts.len() - 1
        });
        let draft = &mut self.drafts[position];
        if draft.id.is_empty() {
            draft.id = id;
        }
        // Some servers repeat the name in each piece. Others may send it in pieces.
        if draft.name != name {
            draft.name.push_str(&name);
        }
        draft.arguments.push_str(&arguments);
        draft.extra_content = delta.extra_content.or(draft.extra_content.take());
    }

    /// Returns the position of the call to which a piece belongs, or `None` if the piece starts a new call.
    fn position(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let last = self.drafts.len().checked_sub(1);
        if index.is_some() {
            let position = self.drafts.iter().rposition(|draft| draft.index == index)?;
            return (!self.drafts[position].is_followed_by(id, name, arguments))
                .then_some(position);
        }
        let named = self
            .drafts
            .iter()
            .rposition(|draft| !id.is_empty() && draft.id == id);
        named.or(if name.is_empty() { last } else { None })
    }

    /// Returns the complete calls, each with the extra content that the server requires back. `cut` means that
    /// the reply reached its cap.
    pub(super) fn finish(
        self,
        names: &ToolNames,
        ids: &mut CallIds,
        cut: bool,
    ) -> Vec<(ToolCall, Option<Value>)> {
        let last = self.drafts.len().saturating_sub(1);
        let finished = self
            .drafts
            .into_iter()
            .enumerate()
            .map(|(position, draft)| {
                let (input, malformed) = arguments::parse(draft.arguments, cut && position == last);
                let call = ToolCall {
                    call_id: ids.unique(draft.id, position),
                    tool: names.to_canonical(&draft.name),
                    input,
                    malformed,
                };
                (call, draft.extra_content)
            });
        finished.collect()
    }
}

impl CallDraft {
    /// Whether a named piece with the same index starts another call nevertheless. Some servers
    /// number every complete call 0.
    fn is_followed_by(&self, id: &str, name: &str, arguments: &str) -> bool {
        if name.is_empty() || self.name.is_empty() {
            return false;
        }
        if !id.is_empty() && !self.id.is_empty() {
            return id != self.id;
        }
        let whole = serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok();
        whole && !arguments.is_empty()
    }
}
