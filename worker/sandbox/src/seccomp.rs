//! The system calls that a command cannot make.
//!
//! This is a deny list, because commands run arbitrary programs. A denied call either reaches out of the namespaces,
//! or exposes a large part of the kernel that no command needs.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// System calls that are denied whatever their arguments.
const DENIED: &[c_long] = &[
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Large parts of the kernel, with many vulnerabilities.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    // Key rings belong to the user on the host.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    // Access to files by handle, which bypasses all mounts.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Placement of other processes' memory.
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Memory that no other process can see, not even the watchdog.
    libc::SYS_memfd_secret,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Flags of clone(2) that create namespaces.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// Socket families that the network namespace confines. It does not confine AF_VSOCK, which reaches the hypervisor.
const FAMILIES: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];
/// Protocols of the internet families. Other protocols expose much kernel code, some of it loaded on first use.
const PROTOCOLS: [i32; 5] = [
    libc::IPPROTO_IP,
    libc::IPPROTO_ICMP,
    libc::IPPROTO_TCP,
    libc::IPPROTO_UDP,
    libc::IPPROTO_ICMPV6,
];
/// The first process of a process namespace, which supervises the command.
const FIRST_PROCESS: u64 = 1;
/// Scheduling calls whose first argument is a process id.
const SCHEDULING: [c_long; 4] = [
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];
/// ioprio_set(2), `IOPRIO_WHO_PROCESS` and `IOPRIO_WHO_USER`.
const IO_OF_PROCESS: u64 = 1;
const IO_OF_USER: u64 = 3;
/// Denied requests of ioctl(2). The first two type into a terminal, and a process that reads it would obey.
/// `FS_IOC_RESVSP`, `FS_IOC_RESVSP64` and `FS_IOC_ZERO_RANGE` of the kernel's `linux/falloc.h` do what fallocate(2)
/// does.
const REQUESTS: [u32; 5] = [
    libc::TIOCSTI as u32,
    libc::TIOCLINUX as u32,
    0x4030_5828,
    0x4030_582a,
    0x4030_5839,
];
/// The argument with which personality(2) returns the current value.
const PERSONALITY_QUERY: u64 = 0xffff_ffff;

/// The sockets that a command can have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Sockets in its own network namespace.
    Confined,
    /// None, because nothing would confine them.
    None,
}

/// Returns the filter. It is a single program, because the kernel compiles each program separately.
pub(super) fn program(sockets: Sockets) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let denied = SeccompFilter::new(denied(sockets)?, SeccompAction::Allow, errno, arch)?;
    let denied: BpfProgram = denied.try_into()?;
    Ok([prologue(), denied].concat())
}

fn denied(sockets: Sockets) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = DENIED.iter().map(|number| (*number, Vec::new())).collect();
    let namespaces = NAMESPACE_FLAGS.map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        argument(0, SeccompCmpOp::MaskedEq(flag), flag)
    });
    let mut clone = any_of(namespaces)?;
    clone.push(own_files_of_thread()?);
    rules.insert(libc::SYS_clone, clone);
    let unshare = u64::from(libc::CLOSE_RANGE_UNSHARE);
    let unshare = argument(2, SeccompCmpOp::MaskedEq(unshare), unshare);
    rules.insert(libc::SYS_close_range, any_of([unshare])?);
    // A process that is not dumpable hides its files in /proc.
    let hide = all_of([
        argument(0, SeccompCmpOp::Eq, libc::PR_SET_DUMPABLE as u64),
        argument(1, SeccompCmpOp::Eq, 0),
    ]);
    rules.insert(libc::SYS_prctl, vec![hide?]);
    rules.extend(scheduling()?);
    let (socket, socketpair) = match sockets {
        Sockets::Confined => (
            denied_sockets()?,
            any_of([argument(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)])?,
        ),
        Sockets::None => (Vec::new(), Vec::new()),
    };
    rules.insert(libc::SYS_socket, socket);
    rules.insert(libc::SYS_socketpair, socketpair);
    // The limits of other processes. Without namespaces, these include the worker if it has the same user.
    let others = any_of([argument(0, SeccompCmpOp::Ne, 0)])?;
    rules.insert(libc::SYS_prlimit64, others);
    let requests = REQUESTS.map(|request| argument(1, SeccompCmpOp::Eq, u64::from(request)));
    rules.insert(libc::SYS_ioctl, any_of(requests)?);
    let personality = vec![
        argument(0, SeccompCmpOp::Ne, 0)?,
        argument(0, SeccompCmpOp::Ne, PERSONALITY_QUERY)?,
    ];
    rules.insert(libc::SYS_personality, vec![SeccompRule::new(personality)?]);
    Ok(rules)
}

/// A rule against threads with a separate table of open files, which the watchdog does not see.
fn own_files_of_thread() -> Result<SeccompRule, seccompiler::BackendError> {
    let (thread, files) = (libc::CLONE_THREAD as u64, libc::CLONE_FILES as u64);
    all_of([argument(0, SeccompCmpOp::MaskedEq(thread | files), thread)])
}

/// Rules against sockets of other families, and against other protocols of these families.
fn denied_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let is_not = |index, value: i32| argument(index, SeccompCmpOp::Ne, value as u64);
    let family = |family: i32| argument(0, SeccompCmpOp::Eq, family as u64);
    let families = FAMILIES.map(|family| is_not(0, family));
    let netlink = [family(libc::AF_NETLINK), is_not(2, libc::NETLINK_ROUTE)];
    let mut rules = vec![all_of(families)?, all_of(netlink)?];
    for internet in [libc::AF_INET, libc::AF_INET6] {
        let protocols = PROTOCOLS.map(|protocol| is_not(2, protocol));
        rules.push(all_of([family(internet)].into_iter().chain(protocols))?);
    }
    Ok(rules)
}

/// Rules against calls that reach the supervisor of the command, by its process id or as a process of its user.
fn scheduling() -> Result<Rules, seccompiler::BackendError> {
    let first = |index| argument(index, SeccompCmpOp::Eq, FIRST_PROCESS);
    let which = |which| argument(0, SeccompCmpOp::Eq, which);
    let mut rules = Rules::new();
    for number in SCHEDULING {
        rules.insert(number, any_of([first(0)])?);
    }
    for (number, process, user) in [
        (
            libc::SYS_setpriority,
            libc::PRIO_PROCESS.into(),
            libc::PRIO_USER.into(),
        ),
        (libc::SYS_ioprio_set, IO_OF_PROCESS, IO_OF_USER),
    ] {
        let of_first = all_of([which(process), first(1)])?;
        let of_user = all_of([which(user)])?;
        rules.insert(number, vec![of_first, of_user]);
    }
    Ok(rules)
}

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

/// A condition on an argument. All these arguments have 32 bits, and the kernel ignores the upper bits as well.
fn argument(index: u8, operator: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

fn any_of(
    conditions: impl IntoIterator<Item = Condition>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    conditions
        .into_iter()
        .map(|condition| SeccompRule::new(vec![condition?]))
        .collect()
}

fn all_of(
    conditions: impl IntoIterator<Item = Condition>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// Instructions before the deny list, for rules that the list cannot express.
///
/// fallocate(2) takes gigabytes of the disk at once; without it, programs write instead. Under x32 every call has a
/// second number, which a list of numbers would miss. The flags of clone3(2) are in memory, which no filter can read.
/// C libraries use clone(2) if clone3(2) is reported as missing.
fn prologue() -> BpfProgram {
    const X32_BIT: u32 = 0x4000_0000;
    let instruction = |code: u32, jt, jf, k| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let jump = |test, k, jt, jf| instruction(libc::BPF_JMP | test | libc::BPF_K, jt, jf, k);
    let refuse = |errno: i32| {
        let action = libc::SECCOMP_RET_ERRNO | errno.unsigned_abs();
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, action)
    };
    vec![
        // The system call number is the first word of `seccomp_data`.
        load(0),
        jump(libc::BPF_JGE, X32_BIT, 0, 1),
        refuse(libc::EPERM),
        jump(libc::BPF_JEQ, libc::SYS_clone3 as u32, 0, 1),
        refuse(libc::ENOSYS),
        jump(libc::BPF_JEQ, libc::SYS_fallocate as u32, 0, 1),
        refuse(libc::EOPNOTSUPP),
    ]
}
