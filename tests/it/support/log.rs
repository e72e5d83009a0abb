//! Reading a job's log.

use serde_json::Value;

/// The types of the events, in order.
pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str().unwrap());
    types.collect()
}

/// What the events of one type say.
pub(crate) fn data<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let found = events.iter().filter(|event| event["type"] == kind);
    found.map(|event| &event["data"]).collect()
}

/// The text of all deltas of one type.
pub(crate) fn text(events: &[Value], kind: &str) -> String {
    let texts = data(events, kind).into_iter();
    texts.map(|data| data["text"].as_str().unwrap()).collect()
}

/// The log is what that of every ended job is: dense from 1, and its last event is the only one that ends it.
pub(crate) fn assert_whole(events: &[Value]) {
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_i64()).collect();
    let dense: Vec<_> = (1..=events.len() as i64).map(Some).collect();
    assert_eq!(seqs, dense, "{events:#?}");
    let ends = |kind: &&str| matches!(*kind, "job.completed" | "job.failed" | "job.cancelled");
    let types = types(events);
    assert_eq!(
        types.iter().filter(|kind| ends(kind)).count(),
        1,
        "{types:?}"
    );
    assert!(types.last().is_some_and(ends), "{types:?}");
}
