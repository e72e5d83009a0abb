//! Becoming more than one is: set-user-ID programs, capabilities, namespaces, mounts, devices.

use super::attack::{User, Worlds, told};

#[tokio::test]
async fn a_command_has_no_capability_and_cannot_get_one() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    let status = "grep -E '^(Cap|NoNewPrivs|Seccomp:|Uid|Gid|Groups)' /proc/self/status";
    let tried = worlds.bash(status).await;
    let inside = told(&tried.inside);
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
        assert!(inside.contains(line), "{line}: {inside}");
    }
    let outside = told(&tried.outside);
    assert!(
        outside.contains("Uid:\t0") && !outside.contains("CapEff:\t0000000000000000"),
        "{outside}"
    );
    let attacks = [
        ("os.setuid(0)", "EINVAL"),
        ("os.setgroups([0])", "EPERM"),
        ("os.setuid(1)", "EINVAL"),
        ("os.chown(os.environ['HOME'], 0, 0)", "EINVAL"),
        ("os.setpriority(os.PRIO_PROCESS, 0, -10)", "EACCES"),
        (
            "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
            "EPERM",
        ),
    ];
    for (attack, reason) in attacks {
        worlds
            .python(attack)
            .await
            .fails_inside(reason)
            .succeeds_outside();
    }
    worlds
        .bash("echo -500 > /proc/self/oom_score_adj")
        .await
        .fails_inside("Permission denied")
        .succeeds_outside();
}

#[tokio::test]
async fn a_set_user_id_program_runs_as_whoever_started_it() {
    let user = User::new();
    let Some(worlds) = Worlds::of(&user).await else {
        return;
    };
    // It waits for the password, which nobody gives.
    let wait = "sleep 5 | su & until grep -q '^su$' /proc/$!/comm; do :; done; awk '/^Uid/ {exit $3 != 0}' /proc/$!/status";
    let attack = format!("{wait} || {{ echo still me; false; }}");
    worlds
        .bash(&attack)
        .await
        .fails_inside("still me")
        .succeeds_outside();
    // One that it made itself has no more to give than the job's own user, whatever that is.
    let tried = worlds
        .bash("cp /usr/bin/id mine && chmod 6755 mine && ./mine -u")
        .await;
    assert_eq!(tried.inside["stdout"], "1000\n", "{:#}", tried.inside);
}

#[tokio::test]
async fn neither_namespaces_nor_mounts_nor_another_root_can_be_had() {
    let Some(worlds) = Worlds::of_root().await else {
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
            "mkdir -p m && mount -t tmpfs none m && umount m",
            "must be superuser",
        ),
        (
            "mkdir -p m && mount --bind /usr m && umount m",
            "must be superuser",
        ),
        ("chroot / true", refused),
        ("hostname \"$(uname -n)\"", "must be root"),
    ];
    for (attack, reason) in attacks {
        // Only programs of the system, which have their own words for it.
        let attack = format!("{attack} || exit 1");
        worlds
            .bash(&attack)
            .await
            .fails_inside(reason)
            .succeeds_outside();
    }
    let folder = "os.makedirs('d', exist_ok=True)\n";
    let calls = [
        format!("call({}, 0x10000000)", libc::SYS_unshare),
        format!(
            "call({}, b'none', b'd', b'tmpfs', 0, 0)\ncall({}, b'd', 0)",
            libc::SYS_mount,
            libc::SYS_umount2
        ),
        format!("call({}, b'tmpfs', 0)", libc::SYS_fsopen),
        format!("call({}, -100, b'd', 1)", libc::SYS_open_tree),
        format!("call({}, b'.')", libc::SYS_chroot),
        format!(
            "pid = call({}, 0x10000011, 0, 0, 0, 0)\npid or os._exit(0)",
            libc::SYS_clone
        ),
    ];
    for attack in calls {
        worlds
            .python(&format!("{folder}{attack}"))
            .await
            .fails_inside("EPERM")
            .succeeds_outside();
    }
    worlds
        .python(&format!(
            "arguments = struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0)
pid = call({}, arguments, len(arguments))
pid or os._exit(0)",
            libc::SYS_clone3
        ))
        .await
        .fails_inside("ENOSYS")
        .succeeds_outside();
    let tried = worlds.bash("cat /proc/sys/user/max_user_namespaces").await;
    assert_eq!(tried.inside["stdout"], "0\n");
}

#[tokio::test]
async fn the_file_system_is_what_programs_need_and_cannot_be_changed() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    for path in [
        "/etc/shadow",
        "/root",
        "/home",
        "/var/lib/dpkg",
        "/sys/kernel",
        "/etc/ssh",
        "/etc/hostname.",
        "/boot",
    ] {
        let tried = worlds.bash(&format!("stat {path} > /dev/null")).await;
        assert!(told(&tried.inside).contains("No such file"), "{path}");
    }
    worlds
        .bash("cat /etc/shadow > /dev/null")
        .await
        .fails_inside("No such file")
        .succeeds_outside();
    let names = "for i in /usr /usr/bin /etc/ssl/certs /etc /; do x=$i/skillet-test-$$; { touch $x && rm $x; } || exit 1; done";
    worlds
        .bash(names)
        .await
        .fails_inside("Read-only file system")
        .succeeds_outside();
    for place in [
        "/",
        "/etc",
        "/dev",
        "/run",
        "/sys",
        "/proc",
        "/var",
        "/usr/bin",
        "/etc/ssl/certs",
    ] {
        let tried = worlds
            .bash(&format!("[[ $UID == 1000 ]] && touch {place}/x || exit 1"))
            .await;
        let told = told(&tried.inside);
        let is_refused = ["Read-only file system", "Permission denied", "No such file"]
            .iter()
            .any(|reason| told.contains(reason));
        assert!(is_refused, "{place}: {:#}", tried.inside);
    }
    let attack = "for i in ls; do chmod 777 /usr/bin/$i; done";
    let tried = worlds.inside.create_shell(attack).await;
    worlds.inside.finished(&tried).await;
    let mount = "awk '$5 == \"/usr\" {print $6}' /proc/self/mountinfo";
    let tried = worlds.bash(mount).await;
    let flags = told(&tried.inside);
    for flag in ["ro", "nosuid", "nodev"] {
        assert!(flags.trim().split(',').any(|it| it == flag), "{flags}");
    }
}

#[tokio::test]
async fn there_is_no_device_but_those_that_harm_nobody() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    let tried = worlds.bash("cd /dev && echo *; ls -A /dev/shm").await;
    assert_eq!(
        tried.inside["stdout"],
        "fd full null random shm stderr stdin stdout urandom zero\n"
    );
    assert!(told(&tried.outside).contains("tty"), "{:#}", tried.outside);
    worlds
        .bash("mknod kmsg c 1 11 && : < kmsg")
        .await
        .fails_inside("Operation not permitted")
        .succeeds_outside();
    worlds
        .bash("exec 3<>/dev/ptmx")
        .await
        .fails_inside("No such file")
        .succeeds_outside();
}
