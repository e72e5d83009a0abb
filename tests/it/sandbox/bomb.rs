//! Processes: how many there may be.

use super::attack::{can_attack, plainly, python, replies, run};
use super::{processes_named, unique};
use crate::support::Service;

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
    let note = "it had 256 processes and threads, the most there may be";
    assert_eq!(reply["note"], note);
    assert_eq!(processes_named(&name), []);
    // Outside there may be more.
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
