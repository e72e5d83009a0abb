//! The disk: all of a job's bytes, and those of one file. How many names there may be, a test of the watch says.

use serde_json::Value;

use super::attack::{can_attack, plainly, python, run};
use crate::support::{Service, until};

const TOO_MUCH: &str = "killed: the workspace and /tmp held more than 2 GiB";

#[tokio::test]
async fn a_command_that_fills_the_disk_is_killed_and_what_it_filled_is_free_again() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    // Blocks of a file count at once, also those that nobody wrote to.
    let fill = "for i in 1 2 3; do fallocate -l 900M $i || exit 1; done; sleep 60; echo filled";
    assert_killed(&run(&service, fill).await, TOO_MUCH);
    let outside = plainly(&fill.replace("sleep 60", "true")).await;
    assert_eq!(outside.stdout, b"filled\n");
    let hidden = "mkdir -p a/b /tmp/c; fallocate -l 900M a/b/1; fallocate -l 900M /tmp/c/2; fallocate -l 900M .hidden; \
                  chmod 000 a/b a; sleep 60; echo filled";
    assert_killed(&run(&service, hidden).await, TOO_MUCH);
    until(async || workspaces(&service) == 0).await;
}

#[tokio::test]
async fn neither_moving_directories_nor_removed_names_hide_what_is_on_the_disk() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let restless = python(
        "import threading, time
os.makedirs('z/a/b/c/d/e')
def move():
    while True:
        os.makedirs('y/x', exist_ok=True)
        os.rename('z/a/b/c', 'c')
        os.rename('c', 'z/a/b/c')
        os.rmdir('y/x')
        os.rmdir('y')
for _ in range(4):
    if os.fork() == 0:
        while True:
            try:
                move()
            except OSError:
                pass
for number in range(3):
    with open(f'full-{number}', 'w') as file:
        os.posix_fallocate(file.fileno(), 0, 900 << 20)
time.sleep(60)
print('filled')
os.kill(0, 9)",
    );
    assert_killed(&run(&service, &restless).await, TOO_MUCH);
    let unnamed = python(
        "import time
files = [open(f'{number}', 'w') for number in range(3)]
for number, file in enumerate(files):
    os.unlink(f'{number}')
    os.posix_fallocate(file.fileno(), 0, 900 << 20)
time.sleep(60)
print('filled')",
    );
    assert_killed(&run(&service, &unnamed).await, TOO_MUCH);
    assert_eq!(
        plainly(&unnamed.replace("sleep(60)", "sleep(0)"))
            .await
            .stdout,
        b"filled\n"
    );
}

#[tokio::test]
async fn a_file_ends_at_its_limit() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let grow = "fallocate -l 1G whole && fallocate -l 1025M more";
    let note = "a file grew beyond 1 GiB, the largest that there may be";
    let reply = run(&service, grow).await;
    assert_eq!(
        (&reply["exit_code"], reply["note"].as_str()),
        (&Value::from(128 + libc::SIGXFSZ), Some(note)),
        "{reply:#}"
    );
    assert!(plainly(grow).await.status.success());
    // Nor one that only looks large.
    let sparse = run(&service, "truncate -s 1T sparse").await;
    assert_eq!(sparse["success"], false, "{sparse:#}");
    assert!(plainly("truncate -s 1T sparse").await.status.success());
}

#[track_caller]
fn assert_killed(reply: &Value, note: &str) {
    assert_eq!(
        (&reply["exit_code"], reply["note"].as_str()),
        (&Value::Null, Some(note)),
        "{reply:#}"
    );
}

/// How many jobs have a workspace.
fn workspaces(service: &Service) -> usize {
    let all = service.home.path().join("worker-0/workspaces");
    let folders = std::fs::read_dir(all).unwrap().flatten();
    let folders = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
    folders.map(Iterator::count).sum()
}
