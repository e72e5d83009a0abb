//! Memory: what a command may have of it, however it asks.

use tokio::sync::Mutex;

use super::attack::{can_attack, plainly, python, run};
use crate::support::Service;

/// Held while a test takes gigabytes outside of the sandbox. Where two do that at once, the system may run out of
/// memory, and then it ends commands of jobs first.
static GIGABYTES: Mutex<()> = Mutex::const_new(());

/// Programs that take 2.2 GiB and hold them until they are killed, or for long enough that each of them has its
/// part, however busy the machine is.
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

#[tokio::test]
async fn a_command_that_takes_more_memory_than_it_may_have_is_killed_or_refused() {
    if !can_attack() {
        return;
    }
    let _alone = GIGABYTES.lock().await;
    let service = Service::start().await;
    let mut held = Vec::new();
    for (kind, hog) in hogs() {
        let reply = run(&service, &hog).await;
        let note = reply["note"].as_str().unwrap_or_default();
        let is_killed =
            note == "killed: it needed more than 2 GiB of memory" && reply["exit_code"].is_null();
        // A kind of memory that commands cannot have at all.
        let is_refused = reply["exit_code"] == 1;
        if !is_killed && !is_refused {
            held.push((kind, reply));
        }
        let outside = plainly(&hog.replace("sleep(20)", "sleep(0)")).await;
        assert!(outside.status.success(), "{kind}: {outside:?}");
    }
    assert!(held.is_empty(), "{held:#?}");
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
    // In a child of a child, which counts as well.
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
