//! Lifetime of processes: none outlives its command, job or worker.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::attack::{can_attack, plainly, python, run};
use super::{processes_named, unique};
use crate::support::{Service, WAIT_AT_GATE, bash, open_gates, until};

/// The time within which the processes of a worker must end after the worker.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Returns a command that starts persistent processes with this name, each in a different way.
fn stayers(name: &str) -> String {
    python(&format!(
        "import signal, time
def stay(sessions, deaf, closed):
    for _ in range(sessions):
        if os.fork():
            os._exit(0)
        os.setsid()
    if deaf:
        for number in set(signal.Signals) - {{signal.SIGKILL, signal.SIGSTOP}}:
            signal.signal(number, signal.SIG_IGN)
    if closed:
        os.closerange(0, 100)
    os.execv('/bin/sleep', ['{name}', '1000'])
for sessions in range(3):
    for deaf in (False, True):
        for closed in (False, True):
            if os.fork() == 0:
                stay(sessions, deaf, closed)
def names():
    for number in filter(str.isdigit, os.listdir('/proc')):
        try:
            yield open(f'/proc/{{number}}/cmdline').read()
        except OSError:
            pass
while sum(name.startswith('{name}') for name in names()) < 12:
    time.sleep(0.01)
print('started')"
    ))
}

#[tokio::test]
async fn no_process_outlives_its_command_whatever_it_does() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let name = unique("stayer");
    let begun_at = Instant::now();
    let reply = run(&service, &stayers(&name)).await;
    assert_eq!(reply["stdout"], "started\n", "{reply:#}");
    assert!(begun_at.elapsed() < Duration::from_secs(10));
    assert_eq!(processes_named(&name), []);
    // Outside, the processes stay.
    let name = unique("stayer");
    plainly(&format!("{{ {}\n}} > /dev/null 2>&1", stayers(&name))).await;
    assert_eq!(kill_all(&name), 12);
}

#[tokio::test]
async fn no_process_outlives_the_time_of_its_job_or_its_cancellation() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let name = unique("stayer");
    // All cores are busy, and the processes ignore signals.
    let burn = "trap '' TERM; for i in 1 2 3 4; do (while :; do :; done) & done; wait";
    let prompt = bash(&format!("{}\n{burn}", stayers(&name)));
    let job = |limits| json!({"skill": "shell", "model": "script/bash", "prompt": prompt, "limits": limits});
    let begun_at = Instant::now();
    let ended = service.run(&job(json!({"timeout_seconds": 2}))).await;
    assert_eq!(ended["error"]["code"], "timeout");
    assert!(begun_at.elapsed() < Duration::from_secs(10));
    until(async || processes_named(&name).is_empty()).await;

    let job = service.create(&job(json!({}))).await;
    until(async || processes_named(&name).len() == 12).await;
    let (status, _) = service
        .post(&format!("/v1/jobs/{job}/cancel"), &json!({}))
        .await;
    assert!(status.is_success(), "{status}");
    service.until_status(&job, &["cancelled"]).await;
    until(async || processes_named(&name).is_empty()).await;
    // Outside, a process that ignores SIGTERM outlives its timeout.
    let name = unique("stayer");
    let outside = format!(
        "timeout 2 bash -c \"{}\"",
        "trap '' TERM; exec -a NAME sleep 4; wait"
    );
    let begun_at = Instant::now();
    plainly(&outside.replace("NAME", &name)).await;
    assert!(begun_at.elapsed() > Duration::from_secs(3));
}

#[tokio::test]
async fn no_process_outlives_a_worker_that_is_killed() {
    if !can_attack() {
        return;
    }
    let mut service = Service::start().await;
    let names = [unique("stayer"), unique("stayer")];
    for name in &names {
        service
            .create_shell(&format!("{}\nsleep 1000", stayers(name)))
            .await;
    }
    let counts = || names.each_ref().map(|name| processes_named(name).len());
    until(async || counts() == [12, 12]).await;
    let launcher = launcher(&service);
    service.workers[0].kill();
    let killed_at = Instant::now();
    until(async || counts() == [0, 0]).await;
    assert!(killed_at.elapsed() < AT_ONCE, "{:?}", killed_at.elapsed());
    until(async || !exists(launcher)).await;
    // Outside, the processes survive the death of their parent.
    let name = unique("stayer");
    plainly(&format!(
        "{{ {}\n}} > /dev/null 2>&1; kill -KILL $$",
        stayers(&name)
    ))
    .await;
    assert_eq!(kill_all(&name), 12);
}

#[tokio::test]
async fn a_launcher_that_is_killed_is_started_anew_and_leaves_nothing_behind() {
    if !can_attack() {
        return;
    }
    let mut service = Service::start().await;
    let name = unique("stayer");
    let job = service
        .create_shell(&format!("{}\n{WAIT_AT_GATE}; echo ended", stayers(&name)))
        .await;
    until(async || processes_named(&name).len() == 12).await;
    let first = launcher(&service);
    kill_process(first, Signal::KILL).unwrap();
    // The other command still runs.
    let next = run(&service, "echo next").await;
    assert_eq!(next["stdout"], "next\n", "{next:#}");
    assert!(!processes_named(&name).is_empty());
    open_gates(&service, 0);
    assert_eq!(service.finished(&job).await["text"], "started\nended");
    assert_eq!(processes_named(&name), []);
    assert_ne!(launcher(&service), first);

    // Kill the launcher and the worker, one right after the other.
    service
        .create_shell(&format!("{}\nsleep 1000", stayers(&name)))
        .await;
    until(async || processes_named(&name).len() == 12).await;
    kill_process(launcher(&service), Signal::KILL).unwrap();
    service.workers[0].kill();
    let killed_at = Instant::now();
    until(async || processes_named(&name).is_empty()).await;
    assert!(killed_at.elapsed() < AT_ONCE, "{:?}", killed_at.elapsed());
}

/// Kills all processes with this name, and returns their number.
fn kill_all(name: &str) -> usize {
    let found = processes_named(name);
    for process in &found {
        kill_process(*process, Signal::KILL).unwrap();
    }
    found.len()
}

pub(super) fn exists(process: Pid) -> bool {
    rustix::process::test_kill_process(process).is_ok()
}

/// Returns the process that starts the commands of the first worker.
pub(super) fn launcher(service: &Service) -> Pid {
    let children = |parent: u32| {
        let path = format!("/proc/{parent}/task/{parent}/children");
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let worker = service.workers[0].id();
    let tasks = std::fs::read_dir(format!("/proc/{worker}/task"))
        .unwrap()
        .flatten();
    let all = tasks.map(|task| {
        let path = task.path().join("children");
        std::fs::read_to_string(path).unwrap_or_default()
    });
    let all: Vec<String> = all.chain([children(worker)]).collect();
    let is_launcher = |id: &i32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"sandbox-init")
    };
    let ids = all.iter().flat_map(|line| line.split_whitespace());
    ids.filter_map(|id| id.parse().ok())
        .find(is_launcher)
        .and_then(Pid::from_raw)
        .expect("a worker that ran a command has a launcher")
}
