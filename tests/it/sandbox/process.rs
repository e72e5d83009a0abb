//! Processes of the machine: their environment, memory and signals.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};

use super::attack::{ServicePair, python};
use super::unique;
use super::user::User;

/// A process of the worker's user that is unrelated to the worker.
struct TargetProcess(Child);

impl TargetProcess {
    fn start(user: &User, secret: &str) -> Self {
        let mut command = Command::new("/bin/sleep");
        command.arg("1000").env_clear().env("SECRET", secret);
        Self(command.uid(user.id).gid(user.id).spawn().unwrap())
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn no_environment_of_any_process_can_be_read_but_ones_own() {
    let user = User::new();
    let Some(services) = ServicePair::of(&user).await else {
        return;
    };
    let secret = unique("secret");
    let target = TargetProcess::start(&user, &secret);
    let environ = format!("/proc/{}/environ", target.id());
    services
        .bash(&format!("cat {environ}"))
        .await
        .fails_inside("No such file")
        .succeeds_outside();
    let every =
        "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\\0' '\\n'; env";
    let tried = services.bash(every).await;
    assert!(tried.outside.told.contains(&secret), "the attack is one");
    assert!(!tried.inside.told.contains(&secret));
    services
        .bash("cat /proc/1/environ")
        .await
        .fails_inside("Permission denied");
}

#[tokio::test]
async fn of_the_workers_own_environment_nothing_is_in_sight() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let ours = "^(DATABASE_URL|SKILLET_[A-Z_]*|ANTHROPIC_API_KEY|OPENAI_API_KEY)=";
    let every = format!(
        "{{ cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; env; set; }} | grep -aE '{ours}'"
    );
    let tried = services.bash(&every).await;
    for (service, told, leaks) in [
        (&services.outside, tried.outside.told, true),
        (&services.inside, tried.inside.told, false),
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
async fn no_process_outside_is_read_traced_slowed_or_signalled() {
    let user = User::new();
    let Some(services) = ServicePair::of(&user).await else {
        return;
    };
    let target = TargetProcess::start(&user, "");
    let id = target.id();
    let attach = format!("call({}, 16, {id}, 0, 0)", libc::SYS_ptrace);
    let read = format!(
        "space = ctypes.create_string_buffer(8)
local = struct.pack('QQ', ctypes.addressof(space), 8)
start = int(open('/proc/{id}/maps').readline().split('-')[0], 16) if os.path.exists('/proc/{id}') else 0
call({}, {id}, local, 1, struct.pack('QQ', start, 8), 1, 0)",
        libc::SYS_process_vm_readv
    );
    let attacks = [
        (
            format!(": < /proc/{id}/mem && : < /proc/{id}/maps"),
            "No such file",
        ),
        (
            format!("ls /proc/{id}/fd /proc/{id}/root/ || exit 1"),
            "No such file",
        ),
        (python(&attach), "EPERM"),
        (python(&read), "EPERM"),
        (python(&format!("os.pidfd_open({id})")), "ESRCH"),
        (format!("renice 19 {id}"), "No such process"),
        (format!("kill -TERM {id}"), "No such process"),
    ];
    let scripts = attacks.each_ref().map(|(attack, _)| attack);
    for (tried, (_, reason)) in services.all(&scripts).await.into_iter().zip(&attacks) {
        tried.fails_inside(reason).succeeds_outside();
    }
}

#[tokio::test]
async fn the_first_process_of_the_sandbox_can_neither_be_taken_over_nor_stopped() {
    let user = User::new();
    let Some(services) = ServicePair::of(&user).await else {
        return;
    };
    // Outside, process 1 belongs to root, so the target there is a process of the same user.
    let mut target = TargetProcess::start(&user, "");
    let either = format!("[[ $UID == 1000 ]] && target=1 || target={}", target.id());
    let attacks = [
        ": <> /proc/$target/mem",
        "cat /proc/$target/maps",
        "ls /proc/$target/fd || exit 1",
        "ls /proc/$target/root/ || exit 1",
        "ls -L /proc/$target/exe || exit 1",
    ];
    let attacks = attacks.map(|attack| format!("{either}; {attack}"));
    for tried in services.all(&attacks).await {
        tried.fails_inside("Permission denied").succeeds_outside();
    }
    // The kernel ignores these signals to process 1 from inside its namespace, and the command ends normally.
    let signals =
        "for signal in STOP TERM HUP INT SEGV USR1 KILL; do kill -$signal $target; done; sleep 0.3";
    let tried = services.bash(&format!("{either}; {signals}")).await;
    assert_eq!(tried.inside.code, 0, "{:#?}", tried.inside);
    let ended = target.0.wait().unwrap();
    assert!(ended.signal().is_some(), "{ended}");
}

#[tokio::test]
async fn a_command_has_three_descriptors_and_they_lead_nowhere() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    // The fourth descriptor is that of the listing itself. The shell closes its ends of the pipes during the listing,
    // which causes errors of `ls`.
    let list = "ls -l /proc/self/fd /proc/$$/fd 2>/dev/null | sed -n 's/.* -> //p' | sort -u";
    let tried = services.bash(list).await;
    let lines = tried.inside.told.lines();
    let kinds: Vec<_> = lines.map(|line| line.split('[').next().unwrap()).collect();
    let harmless =
        |kind: &&str| ["/dev/null", "pipe:"].contains(kind) || kind.starts_with("/proc/");
    assert!(kinds.len() >= 3 && kinds.iter().all(harmless), "{kinds:?}");
    // The same listing shows a leaked descriptor.
    let tried = services
        .bash(&format!("exec 7</etc/services; {list}"))
        .await;
    for outcome in [&tried.inside, &tried.outside] {
        assert!(outcome.told.contains("/etc/services"), "{outcome:#?}");
    }
}
