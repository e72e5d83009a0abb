//! Reading a job's log.

use serde_json::Value;

/// Returns the types of the events, in order.
pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str().unwrap());
    types.collect()
}

/// Returns the data of the events of one type.
pub(crate) fn data<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let found = events.iter().filter(|event| event["type"] == kind);
    found.map(|event| &event["data"]).collect()
}

/// Returns the text of all deltas of one type.
pub(crate) fn text(events: &[Value], kind: &str) -> String {
    let texts = data(events, kind).into_iter();
    texts.map(|data| data["text"].as_str().unwrap()).collect()
}

/// Checks the log of an ended job: its sequence has no gaps and starts at 1, and only the last event ends the job.
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
