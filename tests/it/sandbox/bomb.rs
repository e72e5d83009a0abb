//! Limits on processes.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::attack::{can_attack, plainly, python, replies, run};
use super::mode::landlocked;
use super::user::User;
use super::{processes_named, unique};
use crate::support::{Service, until};

/// The time for which a bomb that is not ended replaces its processes.
const BOMB_LIFETIME: Duration = Duration::from_secs(40);

/// Returns a command that starts 20 self-replacing processes with this name, each in its own session, and does not
/// wait for them.
fn restless(name: &str) -> String {
    let bomb = python(&format!(
        "import time
end = time.monotonic() + {}
def fork():
    # Ended processes count toward the limit until they are waited for.
    while time.monotonic() < end:
        try:
            return os.fork()
        except BlockingIOError:
            time.sleep(0.001)
    os._exit(0)
for _ in range(20):
    if fork() == 0:
        while time.monotonic() < end:
            if fork():
                os._exit(0)
            os.setsid()
        os._exit(0)
time.sleep(1)
print('end', flush=True)",
        BOMB_LIFETIME.as_secs()
    ));
    bomb.replacen(
        "/usr/bin/python3",
        &format!("exec -a {name} /usr/bin/python3"),
        1,
    )
}

/// Whether processes with this name exist. Each may end before it can be inspected. The newest are inspected first.
fn is_there(name: &str) -> bool {
    const LOOKS: usize = 30;
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    (0..LOOKS).any(|_| {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut numbers: Vec<_> = processes.filter_map(number).collect();
        numbers.sort_unstable();
        numbers.iter().rev().any(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).next() == Some(name.as_bytes())
        })
    })
}

#[tokio::test]
async fn without_namespaces_processes_that_replace_themselves_end_with_their_command() {
    if !can_attack() {
        return;
    }
    let user = User::new();
    for user in [Some(&user), None] {
        let mut service = landlocked(user).await;
        let name = unique("restless");
        let begun_at = Instant::now();
        let reply = run(&service, &restless(&name)).await;
        assert_eq!(reply["stdout"], "end\n", "{reply:#}");
        assert!(!is_there(&name));
        assert!(
            begun_at.elapsed() < BOMB_LIFETIME,
            "it may have ended by itself"
        );
        // The processes also end when their worker is killed.
        let begun_at = Instant::now();
        let stay = format!(
            "{}\nsleep 40",
            restless(&name).replacen("exec -a", "(exec -a", 1)
        );
        let job = service
            .create_shell(&stay.replacen("<<'END'", "<<'END')", 1))
            .await;
        service.until_event(&job, "tool.output").await;
        assert!(is_there(&name));
        service.workers[0].kill();
        until(async || !is_there(&name)).await;
        assert!(
            begun_at.elapsed() < BOMB_LIFETIME,
            "it may have ended by itself"
        );
    }
}

#[tokio::test]
async fn without_namespaces_a_bomb_of_processes_is_ended() {
    if !can_attack() {
        return;
    }
    let user = User::new();
    let service = landlocked(Some(&user)).await;
    let name = unique("bomb");
    // Existing processes do not count, whichever user owns them.
    let others = "for i in {1..40}; do sleep 60 & done; wait";
    let mut others = plain(&user, others);
    let bomb = python(&format!(
        "import time
count = 0
while count < 500:
    try:
        if os.fork() == 0:
            os.execv('/bin/sleep', ['{name}', '40'])
        count += 1
    except OSError:
        time.sleep(0.01)
time.sleep(40)"
    ));
    let reply = run(&service, &bomb).await;
    let note = "killed: it had 256 processes and threads, the limit";
    assert_eq!(reply["note"], note, "{reply:#}");
    assert_eq!(processes_named(&name), []);
    let many = run(&service, "for i in {1..200}; do sleep 5 & done; echo fine").await;
    assert_eq!(
        (&many["stdout"], &many["stderr"]),
        (&"fine\n".into(), &"".into()),
        "{many:#}"
    );
    kill_process_group(Pid::from_child(&others), Signal::KILL).unwrap();
    others.wait().unwrap();
}

/// Runs a script as this user without a sandbox, in its own process group.
fn plain(user: &User, script: &str) -> Child {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-c", script]).current_dir("/").process_group(0);
    bash.uid(user.id).gid(user.id).spawn().unwrap()
}

#[tokio::test]
async fn a_bomb_of_processes_harms_only_its_own_command() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let name = unique("bomb");
    let bomb = python(&format!(
        "import time
if os.fork() == 0:
    end = time.monotonic() + 4
    while time.monotonic() < end:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)
    os.execv('/bin/sleep', ['{name}', '1000'])
time.sleep(3)
count = sum(entry.isdigit() for entry in os.listdir('/proc'))
print(count)"
    ));
    let job = service.create_shell(&bomb).await;
    service.until_event(&job, "tool.started").await;
    let neighbour = run(&service, "for i in 1 2 3; do sleep 0.5; done; echo fine").await;
    assert_eq!(neighbour["stdout"], "fine\n", "{neighbour:#}");
    service.finished(&job).await;
    let reply = replies(&service, &job).await.remove(0);
    let count: u32 = reply["stdout"].as_str().unwrap().trim().parse().unwrap();
    assert!((200..=257).contains(&count), "{count}");
    let note = "it had 256 processes and threads, the limit";
    assert_eq!(reply["note"], note);
    assert_eq!(processes_named(&name), []);
    // The limit does not apply outside.
    let many = "for i in {1..400}; do sleep 60 & done 2>&1; jobs -pr | wc -l; kill $(jobs -p)";
    assert_eq!(plainly(many).await.stdout, b"400\n");
    let threads = python(
        "import threading, time
for number in range(400):
    try:
        threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
    except RuntimeError:
        break
print(number)",
    );
    let reply = run(&service, &threads).await;
    let count: u32 = reply["stdout"].as_str().unwrap().trim().parse().unwrap();
    assert!((200..=256).contains(&count), "{count}");
    assert_eq!(plainly(&threads).await.stdout, b"399\n");
}
