//! Commands that run until a test lets them end.

use super::Service;

/// A command that waits for [`open_gates`].
pub(crate) const WAIT_AT_GATE: &str = "until [[ -e gate ]]; do sleep 0.02; done";

/// Lets the commands that wait in a worker's workspaces end.
pub(crate) fn open_gates(service: &Service, worker: usize) {
    let all = service
        .home
        .path()
        .join(format!("worker-{worker}/workspaces"));
    let processes = std::fs::read_dir(all).unwrap().flatten();
    let jobs = processes.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
    for job in jobs.flatten().flatten() {
        // A job that has just ended has no workspace.
        let _ = std::fs::write(job.path().join("workspace/gate"), "");
    }
}
