//! Disk limits: the bytes of a job and of one file. The tests of the watchdog cover the number of names.

use serde_json::{Value, json};

use super::attack::{can_attack, plainly, python, replies, run};
use crate::support::log::data;
use crate::support::{Service, bash, until};

const TOO_MUCH: &str = "killed: the workspace and /tmp held more than 2 GiB";

#[tokio::test]
async fn a_command_that_fills_the_disk_is_killed_and_what_it_filled_is_free_again() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let fill = "for i in 1 2 3; do dd if=/dev/zero of=$i bs=4M count=225 || exit 1; done; sleep 60; echo filled";
    assert_killed(&run(&service, fill).await, TOO_MUCH);
    let outside = plainly(&fill.replace("sleep 60", "true")).await;
    assert_eq!(outside.stdout, b"filled\n");
    let hidden = "mkdir -p a/b /tmp/c; for i in a/b/1 /tmp/c/2 .hidden; do dd if=/dev/zero of=$i bs=4M count=225; done; \
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
    with open(f'full-{number}', 'wb') as file:
        for _ in range(225):
            file.write(bytes(4 << 20))
time.sleep(60)
print('filled')
os.kill(0, 9)",
    );
    assert_killed(&run(&service, &restless).await, TOO_MUCH);
    let unnamed = python(
        "import time
files = [open(f'{number}', 'wb') for number in range(3)]
for number, file in enumerate(files):
    os.unlink(f'{number}')
    for _ in range(225):
        file.write(bytes(4 << 20))
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
async fn commands_that_are_too_quick_to_be_watched_cannot_fill_the_disk_together() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    // Each command writes no more than an idle machine writes between two checks, to a place that is not saved.
    let write = |number: usize| {
        bash(&format!(
            "dd if=/dev/zero of=/tmp/{number} bs=4M count=60 status=none"
        ))
    };
    let prompt: Vec<_> = (1..=9).map(write).collect();
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt.join("\n")});
    let job = service.create(&job).await;
    // Writing two gigabytes takes long on a busy disk, so each command gets the full waiting time.
    for count in 1..=prompt.len() {
        until(async || data(&service.events(&job).await, "tool.completed").len() >= count).await;
    }
    let replies = replies(&service, &job).await;
    assert_killed(&replies[8], TOO_MUCH);
    // All commands before it were within the limit.
    assert_eq!(replies[7]["success"], true, "{replies:#?}");
}

#[tokio::test]
async fn what_takes_the_disk_without_being_written_is_refused_and_programs_write_instead() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let reserve = "fallocate -l 1M reserved || fallocate -x -l 1M reserved";
    let reply = run(&service, reserve).await;
    assert_eq!(reply["success"], true, "{reply:#}");
    let refusal = reply["stderr"].as_str().unwrap();
    assert!(refusal.contains("not supported"), "{reply:#}");
    // The same request by its other numbers.
    let reserve = python(
        "import fcntl
for request in (0x40305828, 0x4030582a, 0x40305839):
    with open('reserved', 'w') as file:
        try:
            fcntl.ioctl(file, request, struct.pack('hhxxxxqqiI16x', 0, 0, 0, 1 << 20, 0, 0))
        except OSError as error:
            print(errno.errorcode[error.errno])
        print(os.fstat(file.fileno()).st_blocks)",
    );
    let reply = run(&service, &reserve).await;
    assert_eq!(reply["stdout"], "EPERM\n0\n".repeat(3), "{reply:#}");
    let outside = plainly(&reserve).await;
    assert_ne!(outside.stdout, b"EPERM\n0\n".repeat(3), "{outside:?}");
}

#[tokio::test]
async fn directories_that_are_closed_stay_so_when_they_are_looked_at() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let close = "mkdir -p a/b; chmod 311 a; chmod 000 a/b; sleep 1";
    let prompt = [close, "true", "stat -c %a a a/b"].map(bash).join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    service.finished(&job).await;
    let replies = replies(&service, &job).await;
    assert_eq!(replies[2]["stdout"], "311\n0\n", "{replies:#?}");
}

#[tokio::test]
async fn a_file_ends_at_its_limit() {
    if !can_attack() {
        return;
    }
    let service = Service::start().await;
    let grow = "truncate -s 1G whole && head -c 1 /dev/zero >> whole";
    let note = "a file grew beyond 1 GiB, the limit";
    let reply = run(&service, grow).await;
    assert_eq!(
        (&reply["exit_code"], reply["note"].as_str()),
        (&Value::from(128 + libc::SIGXFSZ), Some(note)),
        "{reply:#}"
    );
    assert!(plainly(grow).await.status.success());
    // A sparse file, which only looks large, is refused as well.
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

/// Returns the number of jobs that have a workspace.
fn workspaces(service: &Service) -> usize {
    let all = service.home.path().join("worker-0/workspaces");
    let folders = std::fs::read_dir(all).unwrap().flatten();
    let folders = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
    folders.map(Iterator::count).sum()
}
