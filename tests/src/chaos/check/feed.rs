//! Rules about the tenant's feed.

use shared::event::EventKind;

use crate::chaos::history::JobHistory;

/// The feed has each milestone of the log exactly once and in order.
pub(super) fn it_has_each_milestone_once(job: &JobHistory, faults: &mut Vec<String>) {
    let is_milestone = |kind: &str| EventKind::parse(kind).is_some_and(EventKind::is_milestone);
    let entry = |event: &serde_json::Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        is_milestone(kind).then(|| format!("{} {kind}", event["seq"]))
    };
    let expected: Vec<_> = job.events.iter().filter_map(entry).collect();
    let found: Vec<_> = job.feed.iter().filter_map(entry).collect();
    if found != expected {
        faults.push(format!(
            "the feed has {found:?}, and its log has the milestones {expected:?}"
        ));
    }
}
