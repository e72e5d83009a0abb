# The AppArmor profile for containers of Skillet's worker. It is based on Docker's docker-default. It permits the mounts
# that build the file systems of sandboxes, and is stricter otherwise. README.md in this folder describes how to load
# it.

# AppArmor 3 and 4 both support all of this ABI version. It has no rule for user namespaces, so they are allowed.
abi <abi/3.0>,

include <tunables/global>

profile skillet-worker flags=(attach_disconnected,mediate_deleted) {
  include <abstractions/base>

  file,

  # Excludes AF_VSOCK, which reaches the hypervisor, and AF_ALG.
  network inet,
  network inet6,
  network netlink,
  network unix,
  unix,

  # The capabilities that are needed to build a sandbox in its own user namespace.
  capability net_admin,
  capability net_bind_service,
  capability setpcap,
  capability sys_admin,
  capability sys_resource,

  # The file system of a sandbox is built in /tmp of its own mount namespace.
  mount options=(rw,rprivate) -> /,
  mount fstype=tmpfs options=(rw,nosuid,nodev) tmpfs -> /tmp/,
  mount options=(rw,rbind) /** -> /tmp/**,
  mount options=(rw,bind) /** -> /tmp/**,
  mount fstype=tmpfs options=(rw,nosuid,nodev) tmpfs -> /tmp/dev/shm/,
  mount fstype=proc options=(rw,nosuid,nodev,noexec) proc -> /tmp/proc/,
  pivot_root oldroot=/tmp/ /tmp/,
  umount /,
  remount options=(ro,nosuid,nodev,bind) /,

  # The container engine may end the container, and its processes may end each other.
  signal (receive) peer=unconfined,
  signal (receive) peer=runc,
  signal (receive) peer=crun,
  signal (send,receive) peer=skillet-worker,
  ptrace (read,readby) peer=skillet-worker,

  # In /proc, a process may write only its own files, and a sandbox also the limit of its user namespaces.
  deny @{PROC}/* w,
  deny @{PROC}/[^1-9s]*/** w,
  deny @{PROC}/s[^y]*/** w,
  deny @{PROC}/sys/[^u]** w,
  deny @{PROC}/sys/user/[^m]** w,
  deny @{PROC}/sys/user/max_[^u]** w,

  # Files that container engines usually mask. They cannot mask them here, because a sandbox could then not mount /proc.
  deny @{PROC}/acpi/** rwklx,
  deny @{PROC}/asound/** rwklx,
  deny @{PROC}/kcore rwklx,
  deny @{PROC}/keys rwklx,
  deny @{PROC}/latency_stats rwklx,
  deny @{PROC}/sched_debug rwklx,
  deny @{PROC}/scsi/** rwklx,
  deny @{PROC}/sysrq-trigger rwklx,
  deny @{PROC}/timer_list rwklx,
  deny @{PROC}/timer_stats rwklx,

  # In /sys, only cgroups are writable, if the engine gives the container access.
  deny /sys/[^f]*/** wklx,
  deny /sys/f[^s]*/** wklx,
  deny /sys/fs/[^c]*/** wklx,
  deny /sys/fs/c[^g]*/** wklx,
  deny /sys/fs/cg[^r]*/** wklx,
  deny /sys/devices/virtual/powercap/** rwklx,
  deny /sys/firmware/** rwklx,
  deny /sys/kernel/security/** rwklx,
}
