//! Isolation modes: their selection, and the behaviour without sandboxes.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::attack::{can_attack, python, run};
use super::unique;
use super::user::User;
use crate::support::log::data;
use crate::support::{Service, bash, until};

/// Returns a Python program that applies the default filter of container engines for system calls (seccomp(2)), which
/// denies namespaces and mounts.
pub(crate) fn container() -> String {
    let deny = [
        (libc::SYS_unshare, libc::EPERM),
        (libc::SYS_mount, libc::EPERM),
        (libc::SYS_setns, libc::EPERM),
        (libc::SYS_clone3, libc::ENOSYS),
    ];
    let rules = deny.map(|(number, errno)| {
        let errno = libc::SECCOMP_RET_ERRNO | errno.unsigned_abs();
        format!("(0x15, 0, 1, {number}), (0x06, 0, 0, {errno}),")
    });
    format!(
        "import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
rules = [(0x20, 0, 0, 0), {} (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *rule) for rule in rules))
program = struct.pack('HxxxxxxP', len(rules), ctypes.addressof(code))
libc.prctl(38, 1, 0, 0, 0) == 0 or sys.exit('no_new_privs')
libc.prctl(22, 2, program) == 0 or sys.exit('seccomp')
os.execv(sys.argv[1], sys.argv[1:])",
        rules.concat()
    )
}

#[tokio::test]
async fn a_worker_that_cannot_confine_commands_does_not_start_and_says_what_to_do() {
    if !can_attack() {
        return;
    }
    let container = container();
    let in_container = ["/usr/bin/python3", "-c", container.as_str()];
    let none = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let no_namespaces = ["unshare", "--user", "--map-root-user", "bash", "-c", none];
    let cases: [(&[&str], &[&str]); 2] = [
        (&in_container, &["making namespaces", "seccomp"]),
        (
            &no_namespaces,
            &[
                "making namespaces",
                "sysctl -w user.max_user_namespaces=65536",
            ],
        ),
    ];
    for (wrapper, words) in cases {
        for mode in ["", "required"] {
            let user = User::new();
            let service = Service::without_worker().await;
            let assets = user.prepare(&service);
            let own = user.wrapper();
            let whole: Vec<_> = own
                .iter()
                .map(String::as_str)
                .chain(wrapper.iter().copied())
                .collect();
            let mut variables = vec![("SKILLET_ASSETS", assets.as_str())];
            if !mode.is_empty() {
                variables.push(("SKILLET_SANDBOX", mode));
            }
            let mut worker = service.start_worker(&whole, &variables);
            assert!(!worker.wait(), "{}", service.logs());
            let said = service.logs();
            let always = [
                "cannot be confined on this machine",
                "--sandbox allow-landlocked",
                "--sandbox off",
            ];
            for word in words.iter().chain(&always) {
                assert!(said.contains(word), "{word}: {said}");
            }
            let (_, workers) = service.get("/v1/workers").await;
            assert_eq!(workers["data"], json!([]));
        }
    }
}

#[tokio::test]
async fn how_commands_are_confined_is_told_and_decided_by_the_operator_alone() {
    let mut service = Service::without_worker().await;
    for (mode, isolation) in [
        ("required", "namespaced"),
        ("allow-landlocked", "namespaced"),
        ("off", "off"),
    ] {
        service.add_worker(&[("SKILLET_SANDBOX", mode)]).await;
        let (_, workers) = service.get("/v1/workers").await;
        assert_eq!(workers["data"][0]["isolation"], isolation, "{workers:#}");
        // Without a sandbox, the worker takes over no cgroup either.
        if isolation == "off" {
            assert_eq!(workers["data"][0]["memory_limit"], "watched");
        }
        let job = service.create_shell("echo $UID").await;
        let ended = service.finished(&job).await;
        let events = service.events(&job).await;
        assert_eq!(data(&events, "job.started")[0]["isolation"], isolation);
        assert_eq!(
            ended["text"] == "1000",
            isolation == "namespaced",
            "{ended:#}"
        );
        // Remove the worker, so that the next one gets its position in the list.
        let mut worker = service.workers.pop().unwrap();
        worker.signal(rustix::process::Signal::TERM);
        worker.wait();
        until(async || service.get("/v1/workers").await.1["data"] == json!([])).await;
    }
    let plain = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let knobs = [
        ("/sandbox", json!("off")),
        ("/isolation", json!("off")),
        ("/network", json!("any")),
        ("/environment", json!({"LD_PRELOAD": "x"})),
        ("/limits/sandbox", json!("off")),
        ("/limits/memory_bytes", json!(1_u64 << 40)),
    ];
    for (pointer, value) in knobs {
        let mut job = plain.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        if !parent.is_empty() {
            job["limits"] = json!({});
        }
        job.pointer_mut(parent).unwrap()[name] = value;
        let (status, problem) = service.post("/v1/jobs", &job).await;
        assert_eq!(status, 422, "{pointer}: {problem:#}");
        assert!(problem.to_string().contains(name), "{pointer}: {problem:#}");
    }
}

#[tokio::test]
async fn where_the_limit_on_memory_is_only_watched_the_worker_says_so() {
    if !can_attack() {
        return;
    }
    // An ordinary user has no cgroup, unless one is delegated to it.
    let user = User::new();
    let mut service = Service::without_worker().await;
    user.add_worker(&mut service, &[], &[]).await;
    service.add_worker(&[]).await;
    let (_, workers) = service.get("/v1/workers").await;
    let [watched, enforced] = [0, 1].map(|index| &workers["data"][index]["memory_limit"]);
    assert_eq!(watched, "watched");
    let warning = "their memory is watched and not limited";
    let warnings = service.logs().matches(warning).count();
    let expected = if enforced == "enforced" { 1 } else { 2 };
    assert_eq!(warnings, expected, "{workers:#}\n{}", service.logs());
}

/// Starts a service whose worker runs in a container that allows no namespaces.
pub(super) async fn landlocked(user: Option<&User>) -> Service {
    let container = container();
    let wrapper = ["/usr/bin/python3", "-c", container.as_str()];
    let mut service = Service::without_worker().await;
    let mode = [("SKILLET_SANDBOX", "allow-landlocked")];
    match user {
        Some(user) => user.add_worker(&mut service, &wrapper, &mode).await,
        None => service.add_worker_through(&wrapper, &mode).await,
    }
    let (_, workers) = service.get("/v1/workers").await;
    assert_eq!(workers["data"][0]["isolation"], "landlocked");
    service
}

#[tokio::test]
async fn where_there_are_no_namespaces_landlock_confines_the_jobs_of_root() {
    if !can_attack() {
        return;
    }
    let service = landlocked(None).await;
    attack(&service).await;
    assert_eq!(service.get("/v1/workers").await.1["data"][0]["slots"], 32);
}

#[tokio::test]
async fn where_there_are_no_namespaces_landlock_confines_the_jobs_of_an_ordinary_user() {
    if !can_attack() {
        return;
    }
    let user = User::new();
    let service = landlocked(Some(&user)).await;
    attack(&service).await;
    let slots = &service.get("/v1/workers").await.1["data"][0]["slots"];
    assert_eq!(*slots, 1, "all jobs have one user");
}

/// Runs the attacks that Landlock and seccomp must stop without namespaces.
async fn attack(service: &Service) {
    let home = TempDir::new().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(home.path(), open).unwrap();
    let secret = home.path().join("secret");
    std::fs::write(&secret, unique("secret")).unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let (worker, place) = (service.workers[0].id(), home.path().display());
    let stopped = [
        format!("cat {place}/secret"),
        format!("echo x > {place}/new"),
        format!("rm -f {place}/secret || exit 1"),
        format!("ln {place}/secret mine"),
        "ls .. || exit 1".to_owned(),
        "cat /etc/shadow".to_owned(),
        "cat /etc/hostname".to_owned(),
        "echo x > /tmp/skillet-test".to_owned(),
        "echo x > /dev/shm/skillet-test".to_owned(),
        format!("cat /proc/{worker}/environ"),
        "cat /proc/$PPID/environ".to_owned(),
        "cat /proc/$PPID/mem".to_owned(),
        format!("kill -0 {worker}"),
        "kill -STOP $PPID".to_owned(),
        "unshare --user true".to_owned(),
        format!(": < /dev/tcp/127.0.0.1/{port}"),
        python("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"),
        python("socket.socket(socket.AF_UNIX)"),
        python("socket.socketpair()"),
        python(&format!(
            "call({}, 16, os.getppid(), 0, 0)",
            libc::SYS_ptrace
        )),
    ];
    for attack in stopped {
        let reply = run(service, &attack).await;
        let words = [
            "Permission denied",
            "Operation not permitted",
            "EPERM",
            "EACCES",
        ];
        let told = super::attack::told(&reply);
        assert!(
            reply["success"] == false && words.iter().any(|word| told.contains(word)),
            "{attack}: {reply:#}"
        );
    }
    let works = "mkdir d && echo x > d/y && ln d/y z && mv z d/z && cat d/z > $TMPDIR/t && python3 -c 'print(6 * 7)' && ls /usr | wc -l";
    let reply = run(service, works).await;
    assert_eq!(reply["success"], true, "{reply:#}");
    let name = unique("stayer");
    let stay = format!(
        "for i in 1 2 3; do setsid bash -c 'exec -a {name} sleep 1000' & done; sleep 0.5; echo left"
    );
    assert_eq!(run(service, &stay).await["stdout"], "left\n");
    assert_eq!(super::processes_named(&name), []);
    let two = json!({"skill": "shell", "model": "script/bash", "prompt": bash("exit 3")});
    let ended: Value = service.run(&two).await;
    assert_eq!(ended["status"], "completed");
}
