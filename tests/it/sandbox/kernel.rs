//! The kernel: its settings, rare system calls, and their alternative numbers.

use std::path::Path;

use super::attack::{ServicePair, python};

#[tokio::test]
async fn settings_of_the_kernel_cannot_be_changed_nor_its_memory_read() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    // The attack writes the value that is already there.
    let rewrite =
        |path| format!("value=$(< /proc/sys/{path}) && echo \"$value\" 1<> /proc/sys/{path}");
    let denied = "Permission denied";
    let mut attacks = vec![
        (rewrite("kernel/core_pattern"), denied),
        (rewrite("vm/overcommit_memory"), denied),
        (rewrite("kernel/hostname"), denied),
        (rewrite("net/ipv4/ip_forward"), denied),
        (": < /dev/kmsg".to_owned(), "No such file"),
        (": < /sys/kernel/uevent_seqnum".to_owned(), "No such file"),
        ("ls /sys/fs/cgroup/* || exit 1".to_owned(), "No such file"),
        ("dmesg || exit 1".to_owned(), "Operation not permitted"),
    ];
    // Not every kernel has these files.
    for path in ["/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg"] {
        if Path::new(path).exists() {
            attacks.push((format!(": <> {path}"), denied));
        }
    }
    for path in ["/proc/cmdline", "/proc/config.gz"] {
        if Path::new(path).exists() {
            attacks.push((format!(": < {path}"), denied));
        }
    }
    let scripts: Vec<_> = attacks.iter().map(|(attack, _)| attack).collect();
    for (tried, (_, reason)) in services.all(&scripts).await.into_iter().zip(&attacks) {
        tried.fails_inside(reason).succeeds_outside();
    }
}

#[tokio::test]
async fn system_calls_that_no_command_needs_are_refused() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    // The arguments are invalid, so the calls do no harm.
    let calls = [
        ("io_uring_setup", libc::SYS_io_uring_setup, "0, 0"),
        (
            "io_uring_enter",
            libc::SYS_io_uring_enter,
            "-1, 0, 0, 0, 0, 0",
        ),
        (
            "io_uring_register",
            libc::SYS_io_uring_register,
            "-1, 0, 0, 0",
        ),
        ("bpf", libc::SYS_bpf, "9999, 0, 0"),
        (
            "perf_event_open",
            libc::SYS_perf_event_open,
            "0, 0, 0, -1, 0",
        ),
        ("userfaultfd", libc::SYS_userfaultfd, "1 << 30"),
        ("fanotify_init", libc::SYS_fanotify_init, "1 << 30, 0"),
        ("keyctl", libc::SYS_keyctl, "9999, 0, 0, 0, 0"),
        ("add_key", libc::SYS_add_key, "0, 0, 0, 0, 0"),
        ("request_key", libc::SYS_request_key, "0, 0, 0, 0"),
        ("kcmp", libc::SYS_kcmp, "os.getpid(), os.getpid(), 0, 0, 0"),
        ("pidfd_getfd", libc::SYS_pidfd_getfd, "-1, 0, 0"),
        ("kexec_load", libc::SYS_kexec_load, "0, 0, 0, 1 << 40"),
        ("init_module", libc::SYS_init_module, "0, 0, 0"),
        ("delete_module", libc::SYS_delete_module, "0, 0"),
        ("reboot", libc::SYS_reboot, "0, 0, 0, 0"),
        ("swapon", libc::SYS_swapon, "0, 0"),
        ("quotactl", libc::SYS_quotactl, "0, 0, 0, 0"),
        ("acct", libc::SYS_acct, "b'/nowhere/at/all'"),
        ("syslog", libc::SYS_syslog, "9999, 0, 0"),
        ("settimeofday", libc::SYS_settimeofday, "1, 0"),
        ("clock_settime", libc::SYS_clock_settime, "9999, 0"),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, "-1, 0, 0"),
        (
            "name_to_handle_at",
            libc::SYS_name_to_handle_at,
            "-1, 0, 0, 0, 0",
        ),
        ("setns", libc::SYS_setns, "-1, 0"),
        ("mount_setattr", libc::SYS_mount_setattr, "-1, 0, 0, 0, 0"),
        ("move_mount", libc::SYS_move_mount, "-1, 0, -1, 0, 0"),
        ("pivot_root", libc::SYS_pivot_root, "0, 0"),
        ("move_pages", libc::SYS_move_pages, "0, 1, 0, 0, 0, 1 << 30"),
        ("personality", libc::SYS_personality, "0x0040000"),
        ("memfd_secret", libc::SYS_memfd_secret, "1 << 30"),
        // Calls that hide the resources of a process, or the open files of one thread.
        ("prctl", libc::SYS_prctl, "4, 0, 0, 0, 0"),
        ("clone", libc::SYS_clone, "0x10000, 0, 0, 0, 0"),
        ("close_range", libc::SYS_close_range, "1 << 20, 1 << 20, 2"),
        // Calls that slow down the process that supervises the command.
        ("sched_setaffinity", libc::SYS_sched_setaffinity, "1, 0, 0"),
        ("sched_setattr", libc::SYS_sched_setattr, "1, 0, 0"),
        ("sched_setparam", libc::SYS_sched_setparam, "1, 0"),
        (
            "sched_setscheduler",
            libc::SYS_sched_setscheduler,
            "1, 9999, 0",
        ),
        ("setpriority", libc::SYS_setpriority, "2, 1 << 30, 0"),
        ("ioprio_set", libc::SYS_ioprio_set, "3, 1 << 30, 0"),
        #[cfg(target_arch = "x86_64")]
        ("modify_ldt", libc::SYS_modify_ldt, "9999, 0, 0"),
    ];
    let attempts = calls.map(|(name, number, arguments)| {
        format!("attempt('{name}', lambda: call({number}, {arguments}))")
    });
    let define = "def attempt(name, attack):
    try:
        attack()
        print(name, 'works')
    except OSError as error:
        print(name, errno.errorcode[error.errno])";
    let program = format!("{define}\n{}", attempts.join("\n"));
    let tried = services.python(&program).await;
    for (name, ..) in calls {
        let came_of = |told: &str| {
            let mut lines = told.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(it, _)| *it == name).unwrap().1.to_owned()
        };
        assert_eq!(came_of(&tried.inside.told), "EPERM", "{name}");
        assert_ne!(came_of(&tried.outside.told), "EPERM", "{name}");
    }
}

#[tokio::test]
async fn sockets_are_of_protocols_that_programs_need() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let program = "kinds = {
    'route': (socket.AF_NETLINK, socket.SOCK_RAW, 0),
    'diagnosis': (socket.AF_NETLINK, socket.SOCK_RAW, 4),
    'events': (socket.AF_NETLINK, socket.SOCK_RAW, 15),
    'generic': (socket.AF_NETLINK, socket.SOCK_RAW, 16),
    'tcp': (socket.AF_INET, socket.SOCK_STREAM, 6),
    'udp': (socket.AF_INET6, socket.SOCK_DGRAM, 0),
    'mptcp': (socket.AF_INET, socket.SOCK_STREAM, 262),
    'mptcp6': (socket.AF_INET6, socket.SOCK_STREAM, 262),
    'udplite': (socket.AF_INET, socket.SOCK_DGRAM, 136),
}
for name, kind in kinds.items():
    try:
        socket.socket(*kind)
        print(name, 'works')
    except OSError as error:
        print(name, errno.errorcode[error.errno])";
    let tried = services.python(program).await;
    for (name, inside) in [
        ("route", "works"),
        ("diagnosis", "EPERM"),
        ("events", "EPERM"),
        ("generic", "EPERM"),
        ("tcp", "works"),
        ("udp", "works"),
        ("mptcp", "EPERM"),
        ("mptcp6", "EPERM"),
        ("udplite", "EPERM"),
    ] {
        let line = format!("{name} {inside}\n");
        assert!(tried.inside.told.contains(&line), "{line}: {tried:#?}");
        // A kernel may be built without some of these families.
        let refused = format!("{name} EPERM\n");
        assert!(!tried.outside.told.contains(&refused), "{tried:#?}");
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn the_second_numbers_of_system_calls_are_refused_and_those_of_32_bits_end_the_program() {
    const X32_BIT: i64 = 0x4000_0000;
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    for number in [
        libc::SYS_getpid,
        libc::SYS_io_uring_setup,
        libc::SYS_unshare,
    ] {
        services
            .python(&format!("call({})", X32_BIT | number))
            .await
            .fails_inside("EPERM")
            .differs_outside("EPERM");
    }
    // mov eax, 20 (getpid); int 0x80; ret
    let attack = "import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b814000000cd80c3'))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print('called', ctypes.CFUNCTYPE(ctypes.c_int)(address)())";
    let tried = services.python(attack).await;
    const KILLED: i32 = 128 + libc::SIGSYS;
    assert_eq!(tried.inside.code, KILLED, "{:#?}", tried.inside);
    // A kernel without 32-bit calls ends the program in another way.
    assert_ne!(tried.outside.code, KILLED, "{:#?}", tried.outside);
}

#[tokio::test]
async fn nothing_can_be_typed_into_a_terminal() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let inject = "import fcntl
for request in (0x5412, 0x541C):
    try:
        fcntl.ioctl(0, request, b'\\x03')
    except OSError as error:
        print(errno.errorcode[error.errno])";
    let tried = services.python(inject).await;
    assert_eq!(tried.inside.told, "EPERM\nEPERM\n");
    assert_eq!(tried.outside.told, "ENOTTY\nENOTTY\n");
    let into_own = "import fcntl
ours, theirs = os.openpty()
fcntl.ioctl(theirs, 0x540E, 0)
fcntl.ioctl(theirs, 0x5412, b'x')";
    services
        .bash(&format!("setsid --wait {}", python(into_own)))
        .await
        .fails_inside("ENOENT")
        .succeeds_outside();
    services
        .bash(": < /dev/tty")
        .await
        .fails_inside("No such file")
        .differs_outside("No such file");
}
