//! Privilege escalation: users, set-user-ID programs, capabilities, namespaces, mounts, devices.

use super::attack::{ServicePair, python};
use super::user::User;

#[tokio::test]
async fn a_command_has_no_capability_and_becomes_nobody_else() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let status = "grep -E '^(Cap|NoNewPrivs|Seccomp:|Uid|Gid|Groups)' /proc/self/status";
    let tried = services.bash(status).await;
    for line in [
        "Uid:\t1000\t1000\t1000\t1000",
        "Gid:\t1000\t1000\t1000\t1000",
        "Groups:\t \n",
        "CapInh:\t0000000000000000",
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "CapAmb:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
    ] {
        assert!(
            tried.inside.told.contains(line),
            "{line}: {:#?}",
            tried.inside
        );
    }
    for line in ["Uid:\t0", "NoNewPrivs:\t0", "Seccomp:\t0"] {
        assert!(
            tried.outside.told.contains(line),
            "{line}: {:#?}",
            tried.outside
        );
    }
    let attacks = [
        ("os.setuid(0)", "EINVAL"),
        ("os.setgroups([0])", "EPERM"),
        ("os.setuid(1)", "EINVAL"),
        ("os.chown(os.environ['HOME'], 1, 1)", "EINVAL"),
        ("os.setpriority(os.PRIO_PROCESS, 0, -10)", "EACCES"),
        (
            "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
            "EPERM",
        ),
        (
            "open('f', 'w'); os.setxattr('f', 'security.capability', bytes.fromhex('0100000200ff000000000000ff00000000000000'))",
            "EPERM",
        ),
    ];
    let programs = attacks.map(|(attack, _)| python(attack));
    for (tried, (_, reason)) in services.all(&programs).await.into_iter().zip(attacks) {
        tried.fails_inside(reason).succeeds_outside();
    }
}

#[tokio::test]
async fn a_set_user_id_program_runs_as_whoever_started_it() {
    let user = User::new();
    let Some(services) = ServicePair::of(&user).await else {
        return;
    };
    // `su` waits for a password, which is never entered.
    let start = "sleep 5 | su >/dev/null 2>&1 & until grep -q '^su$' /proc/$!/comm; do :; done";
    let attack =
        format!("{start}; awk '/^Uid/ {{exit $3 != 0}}' /proc/$!/status || {{ echo no; false; }}");
    services
        .bash(&attack)
        .await
        .fails_inside("no")
        .succeeds_outside();
    // A set-user-ID program that the command created.
    let own = "cp /usr/bin/id mine && chmod 6755 mine && ./mine -u";
    assert_eq!(services.bash(own).await.inside.told, "1000\n");
}

#[tokio::test]
async fn neither_namespaces_nor_mounts_nor_another_root_can_be_had() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let refused = "Operation not permitted";
    let attacks = [
        ("unshare --user true", refused),
        ("unshare --mount true", refused),
        ("unshare --net true", refused),
        ("unshare --pid --fork true", refused),
        ("nsenter --target $$ --uts true", refused),
        (
            "mkdir m && mount -t tmpfs none m && umount m",
            "must be superuser",
        ),
        (
            "mkdir n && mount --bind /usr n && umount n",
            "must be superuser",
        ),
        ("chroot / true", refused),
        ("hostname \"$(uname -n)\"", "must be root"),
    ];
    // Programs report the failure with different exit codes.
    let scripts = attacks.map(|(attack, _)| format!("{attack} || exit 1"));
    for (tried, (_, reason)) in services.all(&scripts).await.into_iter().zip(attacks) {
        tried.fails_inside(reason).succeeds_outside();
    }
    let calls = [
        format!("call({}, {})", libc::SYS_unshare, libc::CLONE_NEWUSER),
        format!(
            "call({}, b'none', b'd', b'tmpfs', 0, 0); call({}, b'd', 0)",
            libc::SYS_mount,
            libc::SYS_umount2
        ),
        format!("call({}, b'tmpfs', 0)", libc::SYS_fsopen),
        format!("call({}, -100, b'd', 1)", libc::SYS_open_tree),
        format!("call({}, b'.')", libc::SYS_chroot),
        format!(
            "call({}, {}, 0, 0, 0, 0) or os._exit(0)",
            libc::SYS_clone,
            libc::CLONE_NEWUSER | libc::SIGCHLD
        ),
    ];
    let calls = calls.map(|call| python(&format!("os.makedirs('d', exist_ok=True)\n{call}")));
    for tried in services.all(&calls).await {
        tried.fails_inside("EPERM").succeeds_outside();
    }
    // The arguments are in memory, which no seccomp filter can read.
    let clone3 = format!(
        "arguments = struct.pack('8Q', {}, 0, 0, 0, 17, 0, 0, 0)
call({}, arguments, len(arguments)) or os._exit(0)",
        libc::CLONE_NEWUSER,
        libc::SYS_clone3
    );
    services
        .python(&clone3)
        .await
        .fails_inside("ENOSYS")
        .succeeds_outside();
    // If a filter were bypassed, the limit of namespaces would still be 0.
    let tried = services
        .bash("cat /proc/sys/user/max_user_namespaces")
        .await;
    assert_eq!(tried.inside.told, "0\n");
    assert_ne!(tried.outside.told, "0\n");
}

#[tokio::test]
async fn the_file_system_has_no_secrets_and_cannot_be_changed() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let hidden = [
        "/etc/shadow",
        "/etc/pam.d",
        "/root",
        "/home",
        "/var/lib/dpkg",
        "/sys/kernel",
        "/boot",
    ];
    let look = |path| format!("stat {path}");
    for tried in services.all(&hidden.map(look)).await {
        tried.fails_inside("No such file").succeeds_outside();
    }
    let write = |place| format!("name={place}/skillet-test-$$; touch $name && rm $name");
    for tried in services
        .all(&["/usr", "/usr/bin", "/etc", "/var", "/"].map(write))
        .await
    {
        tried
            .fails_inside("Read-only file system")
            .succeeds_outside();
    }
    services
        .bash("chmod $(stat -c %a /usr/share/doc) /usr/share/doc")
        .await
        .fails_inside("Read-only file system")
        .succeeds_outside();
    // Check each mount separately, including the two writable mounts of the job.
    let mounts = "awk '$5 != \"/proc\" && $5 !~ \"^/dev/\" {print $5, $6}' /proc/self/mountinfo";
    let mounts = services.bash(mounts).await.inside.told;
    let is_weak = |line: &&str| {
        let (place, flags) = line.split_once(' ').unwrap();
        let has = |flag| flags.split(',').any(|it| it == flag);
        let is_open = !["/workspace", "/tmp"].contains(&place) && !has("ro");
        is_open || !has("nosuid") || !has("nodev")
    };
    let weak: Vec<_> = mounts.lines().filter(is_weak).collect();
    assert_eq!(weak, [""; 0]);
    assert!(mounts.lines().count() > 4, "{mounts}");
}

#[tokio::test]
async fn there_is_no_device_but_those_that_harm_nobody() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let tried = services.bash("cd /dev && echo *; ls -A /dev/shm").await;
    assert_eq!(
        tried.inside.told,
        "fd full null random shm stderr stdin stdout urandom zero\n"
    );
    assert!(tried.outside.told.contains("tty"), "{:#?}", tried.outside);
    services
        .bash("mknod kmsg c 1 11 && : < kmsg")
        .await
        .fails_inside("Operation not permitted")
        .succeeds_outside();
    services
        .bash(": < /dev/ptmx")
        .await
        .fails_inside("No such file")
        .succeeds_outside();
}
