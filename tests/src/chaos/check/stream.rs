//! Rules about the events that readers receive.

use serde_json::Value;

use crate::chaos::history::JobHistory;

pub(super) fn every_replay_is_the_same(job: &JobHistory, faults: &mut Vec<String>) {
    let Some(whole) = job.replays.iter().find(|replay| replay.after == 0) else {
        faults.push("its log was not replayed".to_owned());
        return;
    };
    let streamed: Vec<_> = whole.stream.iter().map(|raw| data(raw)).collect();
    if streamed != job.events {
        faults.push("the stream from the beginning is not the log".to_owned());
    }
    for replay in &job.replays {
        let after = replay.after;
        if Some(&replay.stream[..]) != whole.stream.get(after..) {
            faults.push(format!("the stream after {after} has other bytes"));
        }
        if Some(&replay.pages[..]) != job.events.get(after..) {
            faults.push(format!("the pages after {after} are not the log"));
        }
    }
}

pub(super) fn followers_saw_the_log(job: &JobHistory, faults: &mut Vec<String>) {
    let whole = job.replays.iter().find(|replay| replay.after == 0);
    let whole = whole.map_or(&[][..], |whole| &whole.stream);
    if job.followed != whole {
        let places = job.followed.iter().zip(whole);
        let same = places.take_while(|(one, other)| one == other).count();
        faults.push(format!(
            "who followed it saw {} events of {}, and the same up to {same}",
            job.followed.len(),
            whole.len()
        ));
    }
}

/// Returns the data of a raw event.
fn data(raw: &str) -> Value {
    let data = raw.lines().find_map(|line| line.strip_prefix("data: "));
    data.and_then(|data| serde_json::from_str(data).ok())
        .unwrap_or_default()
}
