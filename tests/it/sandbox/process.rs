//! The processes of the machine: what is in their environment and memory, and whether they live.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::attack::{User, Worlds, told};
use super::unique;

/// A process of the worker's user that has nothing to do with it.
struct Victim(Child);

impl Victim {
    fn start(user: &User, secret: &str) -> Self {
        let mut command = Command::new("/bin/sleep");
        command.arg("1000").env_clear().env("SECRET", secret);
        Self(command.uid(user.id).gid(user.id).spawn().unwrap())
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn no_environment_of_any_process_can_be_read_but_ones_own() {
    let user = User::new();
    let Some(worlds) = Worlds::of(&user).await else {
        return;
    };
    let secret = unique("secret");
    let victim = Victim::start(&user, &secret);
    let environ = format!("/proc/{}/environ", victim.id());
    worlds
        .bash(&format!("cat {environ}"))
        .await
        .fails_inside("No such file")
        .succeeds_outside();
    let every =
        "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\\0' '\\n'; env";
    let tried = worlds.bash(every).await;
    assert!(told(&tried.outside).contains(&secret), "the attack is one");
    assert!(!told(&tried.inside).contains(&secret));
    worlds
        .bash("cat /proc/1/environ")
        .await
        .fails_inside("Permission denied");
}

#[tokio::test]
async fn of_the_workers_own_environment_nothing_is_in_sight() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    let every =
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; env; set";
    let tried = worlds.bash(every).await;
    for (service, told, leaks) in [
        (&worlds.outside, told(&tried.outside), true),
        (&worlds.inside, told(&tried.inside), false),
    ] {
        let values = [
            service.database_url.as_str(),
            "sk-ant-test",
            "sk-openai-test",
            service.home.path().to_str().unwrap(),
        ];
        for value in values {
            assert_eq!(told.contains(value), leaks, "{value}: {told}");
        }
    }
}

#[tokio::test]
async fn no_process_outside_is_read_traced_signalled_or_renamed() {
    let user = User::new();
    let Some(worlds) = Worlds::of(&user).await else {
        return;
    };
    let victim = Victim::start(&user, "");
    let id = victim.id();
    worlds
        .bash(&format!(": < /proc/{id}/mem && : < /proc/{id}/maps"))
        .await
        .fails_inside("No such file")
        .succeeds_outside();
    worlds
        .bash(&format!("ls /proc/{id}/fd /proc/{id}/root/ || exit 1"))
        .await
        .fails_inside("No such file")
        .succeeds_outside();
    let attach = format!("call({}, 16, {id}, 0, 0)", libc::SYS_ptrace);
    worlds
        .python(&attach)
        .await
        .fails_inside("EPERM")
        .succeeds_outside();
    let read = format!(
        "space = ctypes.create_string_buffer(8)
local = struct.pack('QQ', ctypes.addressof(space), 8)
start = int(open('/proc/{id}/maps').readline().split('-')[0], 16) if os.path.exists('/proc/{id}') else 0
call({}, {id}, local, 1, struct.pack('QQ', start, 8), 1, 0)",
        libc::SYS_process_vm_readv
    );
    worlds
        .python(&read)
        .await
        .fails_inside("EPERM")
        .succeeds_outside();
    let open = format!("os.pidfd_open({id})");
    worlds
        .python(&open)
        .await
        .fails_inside("ESRCH")
        .succeeds_outside();
    worlds
        .bash(&format!("kill -TERM {id}"))
        .await
        .fails_inside("No such process")
        .succeeds_outside();
}

#[tokio::test]
async fn the_first_process_of_the_sandbox_can_neither_be_taken_over_nor_stopped() {
    let user = User::new();
    let Some(worlds) = Worlds::of(&user).await else {
        return;
    };
    // Outside, the first process is root's, so there the victim is one of the same user.
    let victim = Victim::start(&user, "");
    let either = format!("[[ $UID == 1000 ]] && victim=1 || victim={}", victim.id());
    let attacks = [
        ": <> /proc/$victim/mem",
        "cat /proc/$victim/maps",
        "ls /proc/$victim/fd || exit 1",
        "ls /proc/$victim/root/ || exit 1",
        "ls -L /proc/$victim/exe || exit 1",
        "cat /proc/$victim/auxv",
    ];
    for attack in attacks {
        worlds
            .bash(&format!("{either}; {attack}"))
            .await
            .fails_inside("Permission denied")
            .succeeds_outside();
    }
    // The kernel takes these from nobody in the namespace. The shell goes on, and ends as it should.
    let signals = format!(
        "{either}; for signal in STOP KILL TERM HUP INT SEGV USR1; do kill -$signal $victim || exit 1; done; \
         sleep 0.3; kill -0 $victim 2>&1 && exit 1"
    );
    let tried = worlds.bash(&signals).await.succeeds_outside();
    assert_eq!(tried.inside["exit_code"], 1, "{:#}", tried.inside);
}

#[tokio::test]
async fn a_command_has_three_descriptors_and_they_lead_nowhere() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    // The fourth is that of the listing itself.
    let list = "ls -l /proc/self/fd /proc/$$/fd | sed -n 's/.* -> //p' | sort -u";
    let tried = worlds.bash(list).await;
    let kind = |line: &str| line.split('[').next().unwrap().to_owned();
    let inside = told(&tried.inside);
    let kinds: Vec<_> = inside
        .lines()
        .filter(|line| !line.is_empty())
        .map(kind)
        .collect();
    let expected = |kind: &String| {
        matches!(kind.as_str(), "/dev/null" | "pipe:") || kind.starts_with("/proc/")
    };
    assert!(kinds.len() >= 3 && kinds.iter().all(expected), "{kinds:?}");
    // A descriptor that leaks is seen by the same listing.
    let tried = worlds.bash(&format!("exec 7</etc/services; {list}")).await;
    for reply in [&tried.inside, &tried.outside] {
        assert!(told(reply).contains("/etc/services"), "{reply:#}");
    }
}
