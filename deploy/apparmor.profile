# The AppArmor profile of containers that Skillet's worker runs in: Docker's own (docker-default), except that
# it lets the worker build the file systems of its sandboxes, and is stricter with everything else.
# README.md, in this folder, says how to load it.

# Of this version AppArmor 3 and 4 both know everything. Under it there is no rule for user namespaces, so
# they are allowed.
abi <abi/3.0>,

include <tunables/global>

profile skillet-worker flags=(attach_disconnected,mediate_deleted) {
  include <abstractions/base>

  file,

  # Not AF_VSOCK, which reaches the hypervisor, and not AF_ALG.
  network inet,
  network inet6,
  network netlink,
  network unix,
  unix,

  # What a sandbox is built with, in its own user namespace.
  capability net_admin,
  capability net_bind_service,
  capability setpcap,
  capability sys_admin,
  capability sys_resource,

  # The file system of a sandbox grows in /tmp of its own mount namespace.
  mount options=(rw,rprivate) -> /,
  mount fstype=tmpfs options=(rw,nosuid,nodev) tmpfs -> /tmp/,
  mount options=(rw,rbind) /** -> /tmp/**,
  mount options=(rw,bind) /** -> /tmp/**,
  mount fstype=tmpfs options=(rw,nosuid,nodev) tmpfs -> /tmp/dev/shm/,
  mount fstype=proc options=(rw,nosuid,nodev,noexec) proc -> /tmp/proc/,
  pivot_root oldroot=/tmp/ /tmp/,
  umount /,
  remount options=(ro,nosuid,nodev,bind) /,

  # The engine may end the container, and its processes each other.
  signal (receive) peer=unconfined,
  signal (receive) peer=runc,
  signal (receive) peer=crun,
  signal (send,receive) peer=skillet-worker,
  ptrace (read,readby) peer=skillet-worker,

  # Of /proc only a process's own files are written, and by a sandbox the limit of its user namespaces.
  deny @{PROC}/* w,
  deny @{PROC}/[^1-9s]*/** w,
  deny @{PROC}/s[^y]*/** w,
  deny @{PROC}/sys/[^u]** w,
  deny @{PROC}/sys/user/[^m]** w,
  deny @{PROC}/sys/user/max_[^u]** w,

  # What engines mask, and here cannot, as then there could be no /proc in a sandbox.
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

  # Of /sys only cgroups, where the engine lets the container have some.
  deny /sys/[^f]*/** wklx,
  deny /sys/f[^s]*/** wklx,
  deny /sys/fs/[^c]*/** wklx,
  deny /sys/fs/c[^g]*/** wklx,
  deny /sys/fs/cg[^r]*/** wklx,
  deny /sys/devices/virtual/powercap/** rwklx,
  deny /sys/firmware/** rwklx,
  deny /sys/kernel/security/** rwklx,
}
