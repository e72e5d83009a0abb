//! Rules about deliveries to the tenant's webhook.

use shared::id::JobId;
use shared::webhook;

use crate::chaos::delivery::missing;
use crate::chaos::history::{Delivered, JobHistory};

/// Each milestone is delivered at least once, whatever happened to workers and receivers.
pub(super) fn each_milestone_is_delivered(job: &JobHistory, faults: &mut Vec<String>) {
    let missing = missing(job);
    faults.extend(missing.map(|(seq, kind)| format!("event {seq}, {kind}, was not delivered")));
}

/// Each delivery has the id, the type and the time of an event in the log.
pub(super) fn what_is_delivered_is_in_the_log(job: &JobHistory, faults: &mut Vec<String>) {
    let id = job.accepted.first().and_then(|id| id.parse().ok());
    let Some(id) = id else {
        return;
    };
    let others = job.delivered.iter().filter(|it| !is_of_log(job, id, it));
    faults.extend(others.map(|it| {
        let Delivered { id, content } = it;
        format!("{id} was delivered, which is not in the log: {content}")
    }));
}

fn is_of_log(job: &JobHistory, id: JobId, delivered: &Delivered) -> bool {
    let content = &delivered.content;
    let mut events = job.events.iter();
    events.any(|event| {
        let seq = event["seq"].as_i64().unwrap_or_default();
        content["data"]["seq"] == seq
            && content["type"] == event["type"]
            && content["timestamp"] == event["at"]
            && delivered.id == webhook::event_id(id, seq)
    })
}
