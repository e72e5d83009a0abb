//! Rules about files that commands leave in the workspace.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::chaos::history::JobHistory;
use crate::chaos::workload::{SHOWN, line_of};

/// A line is in the file once if its command ended and its workspace was saved under the same lease. A line that was
/// not saved may be missing. No line is in the file twice: no command ran again, and nothing that a superseded worker
/// did was restored.
pub(super) fn what_was_saved_is_there(job: &JobHistory, faults: &mut Vec<String>) {
    let Some(shown) = job.of_type("tool.completed").find_map(shown) else {
        return;
    };
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for line in shown.lines() {
        *count.entry(line).or_default() += 1;
    }
    for (line, times) in &count {
        if *times > 1 {
            faults.push(format!("`{line}` is {times} times in the file"));
        }
    }
    for line in expected_lines(&job.events) {
        if !count.contains_key(&*line) {
            faults.push(format!("`{line}` was saved and is not in the file"));
        }
    }
}

/// Returns the lines of the file if the event is the result of the command that shows them.
fn shown(event: &Value) -> Option<String> {
    let data = &event["data"];
    let output: Value = serde_json::from_str(data["output"].as_str()?).ok()?;
    let lines = output["stdout"].as_str()?.strip_prefix(SHOWN)?;
    (data["outcome"] == "ok").then(|| lines.trim().to_owned())
}

/// Returns the lines that the next attempt must have, according to the log.
fn expected_lines(events: &[Value]) -> Vec<String> {
    let (mut surely, mut unsaved, mut started) = (Vec::new(), Vec::new(), BTreeMap::new());
    for event in events {
        let data = &event["data"];
        let call = data["call_id"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "tool.started" => {
                let command = data["input"]["command"].as_str().unwrap_or_default();
                if let Some(line) = line_of(command) {
                    started.insert(call.to_owned(), line.to_owned());
                } else if command.contains(SHOWN) {
                    // Under the same lease nothing needs to be saved.
                    surely.append(&mut unsaved);
                    return surely;
                }
            }
            "tool.completed" if data["outcome"] == "ok" => unsaved.extend(started.remove(call)),
            "workspace.saved" => surely.append(&mut unsaved),
            "job.retrying" | "job.waiting" => unsaved.clear(),
            _ => {}
        }
    }
    Vec::new()
}
