//! Events as Server-Sent Events (WHATWG HTML, section 9.2.5).

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use shared::event::{Event, is_delta, is_terminal};

/// The comment that keeps proxies from closing an idle stream.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// An event, rendered once for all followers of its job.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) seq: i64,
    pub(crate) bytes: Bytes,
    pub(crate) is_delta: bool,
    /// The ended job, if this is its last event.
    pub(crate) ended: Option<Arc<RawValue>>,
}

impl Frame {
    /// Returns the event without its `event` field, for clients that only support unnamed events.
    pub(crate) fn unnamed(&self) -> Bytes {
        let text = std::str::from_utf8(&self.bytes).unwrap_or_default();
        let (id, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (_, data) = rest.split_once('\n').unwrap_or(("", rest));
        format!("{id}\n{data}").into()
    }
}

impl From<&Event> for Frame {
    fn from(event: &Event) -> Self {
        // JSON has no line breaks outside strings and escapes those inside, so one data line is enough.
        let json = serde_json::to_string(event).expect("events have string keys");
        let Event { seq, kind, .. } = event;
        Self {
            seq: *seq,
            bytes: format!("id: {seq}\nevent: {kind}\ndata: {json}\n\n").into(),
            is_delta: is_delta(kind),
            ended: is_terminal(kind).then(|| event.data.clone().into()),
        }
    }
}
