//! Limits on memory.

use serde_json::Value;
use tokio::sync::Mutex;

use super::attack::{ServicePair, can_attack, plainly, python, run};
use super::user::User;
use crate::support::Service;

/// Held while a test uses gigabytes outside the sandbox. If two tests did so at once, the system could run out of
/// memory, and it would kill commands of jobs first.
static GIGABYTES: Mutex<()> = Mutex::const_new(());

/// Returns programs that take 2.2 GiB. They hold the memory until they are killed, or long enough for each process to
/// get its part on a busy machine.
fn hogs() -> Vec<(&'static str, String)> {
    const HOLD: &str = "import time; time.sleep(20)";
    let children = |take: &str| {
        python(&format!(
            "for _ in range(3):
    if os.fork() == 0:
        {take}
        {HOLD}
        os._exit(0)
for _ in range(3):
    os.wait()[1] == 0 or sys.exit(1)"
        ))
    };
    let mapped = "import mmap
mapped = mmap.mmap(-1, 750 << 20, flags={flags})
for page in range(0, 750 << 20, 4096):
    mapped[page] = 1";
    let in_children = |lines: &str| children(&lines.replace('\n', "\n        "));
    vec![
        ("of its own", children("held = bytearray(750 << 20)")),
        (
            "of processes that hide",
            in_children("libc.prctl(4, 0)\nheld = bytearray(750 << 20)"),
        ),
        (
            "of processes whose first thread has ended",
            in_children(&format!(
                "import threading, time
def hold():
    held = bytearray(750 << 20)
    time.sleep(20)
    os._exit(0)
threading.Thread(target=hold).start()
libc.syscall({}, 0)",
                libc::SYS_exit
            )),
        ),
        (
            "of processes whose name is no text",
            in_children("libc.prctl(15, b'\\xff')\nheld = bytearray(750 << 20)"),
        ),
        (
            "shared",
            in_children(&mapped.replace("{flags}", "mmap.MAP_SHARED")),
        ),
        (
            "of files that have no name",
            python(&format!(
                "zeros = bytes(1 << 20)
files = [os.memfd_create('hog') for _ in range(3)]
for file in files:
    for _ in range(750):
        os.write(file, zeros)
{HOLD}"
            )),
        ),
        (
            "of System V",
            python(&format!(
                "libc.shmat.restype = ctypes.c_void_p
for _ in range(3):
    segment = libc.shmget(0, ctypes.c_size_t(750 << 20), 0o1600)
    segment >= 0 or sys.exit('shmget: ' + errno.errorcode[ctypes.get_errno()])
    address = libc.shmat(segment, None, 0)
    libc.shmctl(segment, 0, None)
    ctypes.memset(address, 1, 750 << 20)
{HOLD}"
            )),
        ),
    ]
}

/// Returns programs whose memory only the kernel sees.
fn unseen() -> Vec<(&'static str, String)> {
    const HOLD: &str = "import time; time.sleep(20)";
    vec![
        (
            "on its way through a socket",
            python(&format!(
                "zeros = bytes(1 << 20)
one, other = socket.socketpair()
for _ in range(3):
    file = os.memfd_create('hog')
    for _ in range(750):
        os.write(file, zeros)
    socket.send_fds(one, [b'x'], [file])
    os.close(file)
{HOLD}"
            )),
        ),
        (
            "shared, and not mapped at the moment",
            python(&format!(
                "import mmap
mapped = [mmap.mmap(-1, 750 << 20, flags=mmap.MAP_SHARED) for _ in range(3)]
for one in mapped:
    for page in range(0, 750 << 20, 4096):
        one[page] = 1
    one.madvise(mmap.MADV_DONTNEED)
{HOLD}"
            )),
        ),
    ]
}

/// Runs programs that take too much memory. Returns those that held it, with the result that the model received.
async fn held(service: &Service, hogs: Vec<(&'static str, String)>) -> Vec<(&'static str, Value)> {
    let mut held = Vec::new();
    for (kind, hog) in hogs {
        let reply = run(service, &hog).await;
        let note = reply["note"].as_str().unwrap_or_default();
        let is_killed =
            note == "killed: it needed more than 2 GiB of memory" && reply["exit_code"].is_null();
        // Commands cannot have this kind of memory at all.
        let is_refused = reply["exit_code"] == 1;
        if !is_killed && !is_refused {
            held.push((kind, reply));
        }
    }
    held
}

#[tokio::test]
async fn a_command_that_takes_more_memory_than_it_may_have_is_killed_or_refused() {
    if !can_attack() {
        return;
    }
    let _alone = GIGABYTES.lock().await;
    let service = Service::start().await;
    let held_inside = held(&service, hogs()).await;
    assert!(held_inside.is_empty(), "{held_inside:#?}");
    let (_, workers) = service.get("/v1/workers").await;
    if workers["data"][0]["memory_limit"] == "enforced" {
        let held_inside = held(&service, unseen()).await;
        assert!(held_inside.is_empty(), "{held_inside:#?}");
    }
    for (kind, hog) in hogs().into_iter().chain(unseen()) {
        let outside = plainly(&hog.replace("sleep(20)", "sleep(0)")).await;
        assert!(outside.status.success(), "{kind}: {outside:?}");
    }
}

#[tokio::test]
async fn without_a_cgroup_as_well() {
    if !can_attack() {
        return;
    }
    let _alone = GIGABYTES.lock().await;
    // An ordinary user has no cgroup, unless one is delegated to it.
    let user = User::new();
    let mut service = Service::without_worker().await;
    user.add_worker(&mut service, &[], &[]).await;
    let held_inside = held(&service, hogs()).await;
    assert!(held_inside.is_empty(), "{held_inside:#?}");
}

#[tokio::test]
async fn commands_end_when_the_machine_is_short_of_memory() {
    if !can_attack() {
        return;
    }
    let mut service = Service::without_worker().await;
    // More memory than any machine has.
    let floor = [("SKILLET_SANDBOX_MEMORY_FLOOR", "4000000GiB")];
    service.add_worker(&floor).await;
    let reply = run(&service, "sleep 20; echo end").await;
    let note = "killed: the machine is short of memory; a command that needs less may succeed";
    assert_eq!(
        (&reply["exit_code"], reply["note"].as_str()),
        (&Value::Null, Some(note)),
        "{reply:#}"
    );
}

#[tokio::test]
async fn a_process_that_cannot_be_inspected_ends_its_command() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let hide = "cp /bin/sleep hidden && chmod 111 hidden && ./hidden 5";
    let reply = run(&service, hide).await;
    let note = "killed: one of its processes could not be inspected; programs must be readable by their user";
    assert_eq!(
        (&reply["exit_code"], reply["note"].as_str()),
        (&Value::Null, Some(note)),
        "{reply:#}"
    );
    // A command whose processes come and go is not ended.
    let busy = "for i in {1..100}; do sleep 0.001 & (exec true) & done; wait; echo fine";
    let reply = run(&service, busy).await;
    assert_eq!(reply["stdout"], "fine\n", "{reply:#}");
}

#[tokio::test]
async fn a_command_stays_the_first_to_go_when_memory_runs_out() {
    let attacks = [
        "echo 0 > /proc/self/oom_score_adj",
        "echo 0 1<> /proc/$PPID/oom_score_adj",
        "choom -n 0 -p $$",
    ];
    let user = User::new();
    for services in [ServicePair::of_root().await, ServicePair::of(&user).await] {
        let Some(services) = services else {
            return;
        };
        for tried in services.all(&attacks).await {
            tried
                .fails_inside("Read-only file system")
                .succeeds_outside();
        }
        let all = services.bash("cat /proc/*/oom_score_adj | sort -u").await;
        assert_eq!(all.inside.told, "1000\n");
    }
}

#[tokio::test]
async fn one_process_is_refused_more_than_the_limit_and_goes_on() {
    if !can_attack() {
        return;
    }
    let _alone = GIGABYTES.lock().await;
    let service = Service::start().await;
    let hog = python(
        "try:
    held = bytearray(2200 << 20)
    print('held')
except MemoryError:
    print('refused')",
    );
    let reply = run(&service, &hog).await;
    assert_eq!(reply["stdout"], "refused\n", "{reply:#}");
    let outside = plainly(&hog).await;
    assert_eq!(outside.stdout, b"held\n", "{outside:?}");
    let fill = "head -c 100M /dev/zero > /dev/shm/full && rm /dev/shm/full";
    let reply = run(&service, fill).await;
    assert!(
        reply["stderr"].as_str().unwrap().contains("No space left"),
        "{reply:#}"
    );
    let outside = fill.replace("/dev/shm/full", "full");
    let outside = plainly(&outside).await;
    assert!(outside.status.success(), "{outside:?}");
}

#[tokio::test]
async fn what_a_command_took_is_measured() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let usage = async |command: &str| {
        let job = service.create_shell(command).await;
        service.finished(&job).await;
        let events = service.events(&job).await;
        let usage = &crate::support::log::data(&events, "tool.completed")[0]["usage"];
        let number = |field: &str| usage[field].as_u64().unwrap();
        (number("cpu_ms"), number("peak_memory_bytes"))
    };
    // A grandchild uses the CPU time, which counts as well.
    let burn = python(
        "import time
while time.process_time() < 0.3:
    pass",
    );
    let (cpu_ms, _) = usage(&format!(
        "bash -c \"$(cat <<'OUTER'\n{burn}\nOUTER\n)\"; true"
    ))
    .await;
    assert!((300..1500).contains(&cpu_ms), "{cpu_ms} ms");
    let (_, bytes) = usage(&python("held = bytearray(200 << 20)")).await;
    let mib = bytes >> 20;
    assert!((200..300).contains(&mib), "{mib} MiB");
    let (cpu_ms, bytes) = usage("true").await;
    assert!(
        cpu_ms < 100 && bytes < 20 << 20,
        "{cpu_ms} ms, {bytes} bytes"
    );
}
