# For machines without containers on which AppArmor denies user namespaces to programs that have no profile,
# as Ubuntu does from 23.10 on (sysctl kernel.apparmor_restrict_unprivileged_userns). It confines nothing, and
# gives this one program its namespaces back. Needs AppArmor 4.

abi <abi/4.0>,

include <tunables/global>

profile skillet /usr/local/bin/skillet flags=(unconfined) {
  userns,
}
