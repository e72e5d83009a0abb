//! Reuse of a job's sandbox: the next command finds no traces of the last one, or gets a new sandbox.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::model_server::Reply;

use super::attack::{can_attack, python, replies, run};
use super::life::{exists, launcher};
use super::{processes_named, unique};
use crate::support::log::data;
use crate::support::{Service, bash, scripted, until};

/// The process id of the first command in a sandbox, after the supervisor.
pub(crate) const FIRST: &str = "2";
/// Prints the environment of a command: processes, shared objects, and inherited settings.
const LOOK: &str = "set -- /proc/[0-9]*; echo $# processes; tail -qn +2 /proc/sysvipc/*; ls -A /dev/shm; \
    stat -c %a /dev/shm; tail -qn +2 /proc/net/tcp /proc/net/unix; grep -E '^Sig|^Cpus_allowed:' /proc/self/status; \
    ulimit -a; ulimit -Ha; umask; pwd; nice; ionice; env; trap; ls /proc/self/fd | wc -l; read line; echo \"[$line]\"";
/// Pairs of commands in each job. Any command may be slow on a busy machine.
const TIMES: usize = 5;
/// The maximum number of jobs that try a command.
const MAX_JOBS: usize = 10;
const CLAUDE: &str = "anthropic/claude-test";

/// Runs the commands of one job in sequence.
async fn run_all(service: &Service, commands: &[&str]) -> Vec<Value> {
    let prompt: Vec<_> = commands.iter().map(|command| bash(command)).collect();
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt.join("\n")});
    let job = service.create(&job).await;
    service.finished(&job).await;
    let replies = replies(service, &job).await;
    assert_eq!(replies.len(), commands.len(), "{replies:#?}");
    replies
}

/// Runs a command and then [`LOOK`], several times. Returns for each time whether both ran in the same sandbox, and
/// the output of [`LOOK`].
async fn tried(service: &Service, command: &str) -> Vec<(bool, String)> {
    let look = format!("echo $$; {LOOK}");
    let replies = run_all(service, &[command, &look].repeat(TIMES)).await;
    let seen = replies.chunks(2).map(|pair| {
        assert_eq!(pair[0]["stdout"], "done\n", "{command}: {pair:#?}");
        let printed = pair[1]["stdout"].as_str().unwrap();
        let (number, seen) = printed.split_once('\n').unwrap();
        (number != FIRST, seen.to_owned())
    });
    seen.collect()
}

/// Returns the output of [`LOOK`] in the first command of a job.
async fn new(service: &Service) -> String {
    let reply = run(service, LOOK).await;
    let seen = reply["stdout"].as_str().unwrap().to_owned();
    // The first process of the sandbox, and the command.
    assert!(seen.starts_with("2 processes\n"), "{reply:#}");
    seen
}

#[tokio::test]
async fn a_quick_command_that_left_nothing_is_followed_by_another_in_its_sandbox() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let new = new(&service).await;
    let name = unique("stayer");
    let stay = format!(
        "(exec -a {name} sleep 1000) & setsid bash -c 'exec -a {name} sleep 1000' & echo done"
    );
    let commands = [
        "echo done",
        "bash -c 'kill -KILL $$'; echo done",
        "echo x > /dev/shm/file && rm /dev/shm/file && echo done",
        "cd /tmp; umask 077; export LEAKED=1; ulimit -n 10; renice -n 19 $$ > /dev/null; trap '' TERM HUP PIPE; exec 5< /etc/services; echo done",
        &stay,
    ];
    for command in commands {
        let mut jobs = 0;
        let mut was_same = false;
        while !was_same {
            assert!(jobs < MAX_JOBS, "{command}");
            jobs += 1;
            for (is_same, seen) in tried(&service, command).await {
                was_same |= is_same;
                assert_eq!(seen, new, "{command}");
            }
        }
    }
    assert_eq!(processes_named(&name), []);
}

#[tokio::test]
async fn a_command_that_was_slow_or_left_something_is_followed_by_one_in_a_new_sandbox() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let new = new(&service).await;
    let own = [
        "sleep 0.4; echo done",
        "echo x > /dev/shm/file && echo done",
        "chmod 700 /dev/shm && echo done",
    ];
    let programs = [
        "call(29, 0, 4096, 0o1600)",
        "call(64, 0, 1, 0o1600)",
        "call(68, 0, 0o1600)",
        // A closed connection, which stays for a minute.
        "listener = socket.create_server(('127.0.0.1', 0))
peer = socket.create_connection(listener.getsockname())
accepted = listener.accept()[0]
accepted.close()
peer.recv(1)
peer.close()",
    ];
    let left = programs.map(|program| python(&format!("{program}\nprint('done')")));
    for command in own.map(str::to_owned).into_iter().chain(left) {
        for (is_same, seen) in tried(&service, &command).await {
            assert!(!is_same, "{command}");
            assert_eq!(seen, new, "{command}");
        }
    }
    // Memory that is only open in sockets that are queued in each other, until the kernel finds them.
    let held = python(
        "file = os.memfd_create('held')
os.write(file, bytes(1 << 20))
one, other = socket.socketpair()
socket.send_fds(one, [b'x'], [file, one.fileno(), other.fileno()])
print('done')",
    );
    for (_, seen) in tried(&service, &held).await {
        assert_eq!(seen, new);
    }
    // A command cannot change settings that the next command would inherit.
    for change in [
        "prlimit --pid 1 --nofile=100",
        "renice -n 19 -p 1",
        "renice -n 19 -u $UID",
        "ionice -c 3 -p 1",
        "chrt --idle -p 0 1",
        "taskset -p 1 1",
        "echo 1 > /proc/1/timerslack_ns",
    ] {
        let reply = run(&service, change).await;
        let refusal = reply["stderr"].as_str().unwrap();
        let words = ["not permitted", "Read-only file system"];
        assert!(
            reply["success"] == false && words.iter().any(|word| refusal.contains(word)),
            "{change}: {reply:#}"
        );
    }
    // A command cannot create an object that could not be found again.
    let queue = "call(240, b'queue', os.O_CREAT | os.O_RDWR, 0o600, 0)";
    let reply = run(&service, &python(queue)).await;
    assert!(
        reply["stdout"].as_str().unwrap().contains("EMFILE"),
        "{reply:#}"
    );
}

#[tokio::test]
async fn a_commands_time_and_memory_are_its_own_whatever_ran_before_in_its_sandbox() {
    if !can_attack() {
        return;
    }
    let burn = python(
        "import time
held = bytearray(40 << 20)
while time.process_time() < 0.05:
    pass",
    );
    let burn = format!("echo $PPID; {burn}");
    for isolation in ["required", "off"] {
        let mut service = Service::without_worker().await;
        service.add_worker(&[("SKILLET_SANDBOX", isolation)]).await;
        let prompt = format!("{}\n{}\n", bash(&burn), bash("echo $PPID $$")).repeat(TIMES);
        let request = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
        // Without namespaces, each sandbox has its own supervisor process.
        let is_shared = |pair: &[Value]| {
            let [first, second] = [0, 1].map(|index| pair[index]["stdout"].as_str().unwrap());
            second.starts_with(first.trim()) && !second.trim().ends_with(&format!("1 {FIRST}"))
        };
        let mut jobs = 0;
        let job = loop {
            let job = service.create(&request).await;
            service.finished(&job).await;
            let replies = replies(&service, &job).await;
            if replies.chunks(2).any(is_shared) {
                break job;
            }
            // On a busy machine, all commands may be slow.
            jobs += 1;
            assert!(jobs < MAX_JOBS, "{isolation}: {replies:#?}");
        };
        let events = service.events(&job).await;
        let used = data(&events, "tool.completed").into_iter().map(|data| {
            let number = |field: &str| data["usage"][field].as_u64().unwrap();
            (number("cpu_ms"), number("peak_memory_bytes") >> 20)
        });
        let used: Vec<_> = used.collect();
        for pair in used.chunks(2) {
            let [(burnt_ms, held_mib), (cpu_ms, mib)] = [pair[0], pair[1]];
            assert!(burnt_ms >= 50 && (40..80).contains(&held_mib), "{used:?}");
            assert!(cpu_ms < 40 && mib < 20, "{used:?}");
        }
    }
}

#[tokio::test]
async fn a_kept_sandbox_that_is_killed_is_replaced_and_nobody_notices() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let call = || Reply::call("shell.exec", json!({"command": "echo $$"}));
    // The delay is long enough to kill a process.
    let later = call().delay(Duration::from_secs(2));
    let replies_of_model = [call(), later, Reply::text("Done.")];
    service.model.script("kept", replies_of_model);
    let job = service.create(&scripted(CLAUDE, "kept")).await;
    service.until_event(&job, "tool.completed").await;
    let kept = kept(&service);
    assert_eq!(kept.len(), 1);
    kill_process(kept[0], Signal::KILL).unwrap();
    assert_eq!(service.finished(&job).await["text"], "Done.");
    let replies = replies(&service, &job).await;
    for reply in replies {
        assert_eq!(reply["stdout"].as_str().unwrap().trim(), FIRST, "{reply:#}");
    }
}

#[tokio::test]
async fn a_kept_sandbox_outlives_neither_its_job_nor_its_worker() {
    if !can_attack() {
        return;
    }
    let mut service = Service::start().await;
    let kept_of = async |marker: &str| {
        let call = Reply::call("shell.exec", json!({"command": "true"}));
        service.model.script(marker, [call, Reply::stall()]);
        let job = service.create(&scripted(CLAUDE, marker)).await;
        service.model.stalled(marker).await;
        let kept = kept(&service);
        assert_eq!(kept.len(), 1);
        (job, kept[0])
    };
    let (job, process) = kept_of("cancelled").await;
    let path = format!("/v1/jobs/{job}/cancel");
    assert!(service.post(&path, &json!({})).await.0.is_success());
    until(async || !exists(process)).await;
    let (_, process) = kept_of("killed").await;
    service.workers[0].kill();
    until(async || !exists(process)).await;
}

/// Returns the first process of each existing sandbox.
fn kept(service: &Service) -> Vec<Pid> {
    let launcher = launcher(service).as_raw_nonzero();
    let path = format!("/proc/{launcher}/task/{launcher}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let numbers = text.split_whitespace().map(|id| id.parse().unwrap());
    numbers.filter_map(Pid::from_raw).collect()
}
