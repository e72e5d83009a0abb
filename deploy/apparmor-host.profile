# For machines without containers on which AppArmor denies user namespaces to programs that have no profile, as Ubuntu
# does since 23.10 (sysctl kernel.apparmor_restrict_unprivileged_userns). The profile restricts nothing. It only permits
# user namespaces for this program. Requires AppArmor 4.

abi <abi/4.0>,

include <tunables/global>

profile skillet /usr/{,local/}bin/skillet flags=(unconfined) {
  userns,
}
