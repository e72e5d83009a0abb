//! The kernel: its settings, its rarer system calls, and the second numbers of all of them.

use super::attack::Worlds;

#[tokio::test]
async fn settings_of_the_kernel_cannot_be_changed_nor_its_memory_read() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    // What is written is what was there.
    let rewrite = |path: &str| format!("value=$(< {path}) && echo \"$value\" > {path}");
    let attacks = [
        (
            rewrite("/proc/sys/kernel/core_pattern"),
            "Permission denied",
        ),
        (
            rewrite("/proc/sys/vm/overcommit_memory"),
            "Permission denied",
        ),
        (rewrite("/proc/sys/kernel/hostname"), "Permission denied"),
        (
            rewrite("/proc/sys/user/max_user_namespaces"),
            "Permission denied",
        ),
        (
            rewrite("/proc/sys/net/ipv4/ip_forward"),
            "Permission denied",
        ),
        (": >> /proc/sysrq-trigger".to_owned(), "Permission denied"),
        (": < /proc/kcore".to_owned(), "Permission denied"),
        (": < /dev/kmsg".to_owned(), "No such file"),
        (": < /sys/kernel/uevent_seqnum".to_owned(), "No such file"),
        ("ls /sys/fs/cgroup/* || exit 1".to_owned(), "No such file"),
        ("dmesg || exit 1".to_owned(), "Operation not permitted"),
    ];
    for (attack, reason) in attacks {
        worlds
            .bash(&attack)
            .await
            .fails_inside(reason)
            .succeeds_outside();
    }
}

#[tokio::test]
async fn system_calls_that_no_command_needs_are_refused() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    // With arguments that are wrong enough to harm nobody.
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
        ("kcmp", libc::SYS_kcmp, "1, 1, 9999, 0, 0"),
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
    ];
    for (name, number, arguments) in calls {
        worlds
            .python(&format!("# {name}\ncall({number}, {arguments})"))
            .await
            .fails_inside("EPERM")
            .differs_outside("EPERM");
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn the_second_numbers_of_system_calls_are_refused_and_those_of_32_bits_end_the_program() {
    const X32_BIT: i64 = 0x4000_0000;
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    for number in [
        libc::SYS_getpid,
        libc::SYS_io_uring_setup,
        libc::SYS_unshare,
    ] {
        worlds
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
    let tried = worlds.python(attack).await;
    // SIGSYS
    assert_eq!(tried.inside["exit_code"], 159, "{:#}", tried.inside);
    // A kernel may have no such calls, and then ends it, too, with another signal.
    assert_ne!(tried.outside["exit_code"], 159, "{:#}", tried.outside);
}

#[tokio::test]
async fn nothing_can_be_typed_into_a_terminal() {
    let Some(worlds) = Worlds::of_root().await else {
        return;
    };
    let inject = "import fcntl
for request in (0x5412, 0x541C):
    try:
        fcntl.ioctl(0, request, b'\\x03')
    except OSError as error:
        print(errno.errorcode[error.errno])
    else:
        print('typed')
sys.exit(1)";
    let tried = worlds.python(inject).await;
    assert_eq!(
        tried.inside["stdout"], "EPERM\nEPERM\n",
        "{:#}",
        tried.inside
    );
    assert_eq!(
        tried.outside["stdout"], "ENOTTY\nENOTTY\n",
        "{:#}",
        tried.outside
    );
    // With a terminal of one's own.
    let attack = "import fcntl
ours, theirs = os.openpty()
os.setsid()
fcntl.ioctl(theirs, 0x540E, 0)
fcntl.ioctl(theirs, 0x5412, b'x')";
    worlds
        .bash(&format!("setsid --wait {}", super::attack::python(attack)))
        .await
        .fails_inside("ENOENT");
    worlds
        .bash(": < /dev/tty")
        .await
        .fails_inside("No such file")
        .differs_outside("No such file");
}
