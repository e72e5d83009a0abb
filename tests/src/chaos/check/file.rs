//! Files that commands left in the workspace.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::chaos::history::JobHistory;
use crate::chaos::workload::{SHOWN, line_of};

/// A line whose command ended and whose workspace was saved under the same lease is in the file, once. A line
/// that nobody saved may be missing, and none is there twice: no command ran again, and nothing that a
/// superseded worker did was restored.
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
    for line in surely_there(&job.events) {
        if !count.contains_key(&*line) {
            faults.push(format!("`{line}` was saved and is not in the file"));
        }
    }
}

/// The lines of the file, if this is the result of the command that shows them.
fn shown(event: &Value) -> Option<String> {
    let data = &event["data"];
    let output: Value = serde_json::from_str(data["output"].as_str()?).ok()?;
    let lines = output["stdout"].as_str()?.strip_prefix(SHOWN)?;
    (data["outcome"] == "ok").then(|| lines.trim().to_owned())
}

/// The lines of which the log says that the next attempt has them.
fn surely_there(events: &[Value]) -> Vec<String> {
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
                    // Under this very lease nothing needs to be saved.
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
