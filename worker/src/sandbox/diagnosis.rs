//! Why this machine has no sandbox, and what its operator can do about it.

use std::fs;
use std::path::Path;

use super::spec::{SetupFailed, Step};

/// A sandbox cannot be had here, or not one that holds.
#[derive(Debug, thiserror::Error)]
#[error("commands cannot be confined on this machine: {reason}\n\n{remedy}")]
pub struct Unavailable {
    /// What went wrong.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

impl From<SetupFailed> for Unavailable {
    fn from(failed: SetupFailed) -> Self {
        Self {
            reason: failed.to_string(),
            remedy: remedy(failed.step, failed.errno, &Host::look()),
        }
    }
}

impl Unavailable {
    /// It was set up, and something that it should have kept in got out.
    pub(super) fn leaks(holes: &str) -> Self {
        Self {
            reason: format!("a sandbox was set up, but these got out of it: {holes}"),
            remedy: "That should be impossible: please report it with the kernel's version."
                .to_owned(),
        }
    }

    /// Something of ours failed.
    pub(super) fn other(error: &anyhow::Error) -> Self {
        Self {
            reason: format!("{error:#}"),
            remedy: ALTERNATIVES.to_owned(),
        }
    }
}

/// What about a host decides.
struct Host {
    container: Option<Container>,
    /// The sysctls that stand in the way, as they would have to be.
    sysctls: Vec<&'static str>,
    has_masked_proc: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Docker,
    Kubernetes,
}

impl Host {
    fn look() -> Self {
        let is_kubernetes = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        let is_container =
            Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
        let container = match (is_kubernetes, is_container) {
            (true, _) => Some(Container::Kubernetes),
            (_, true) => Some(Container::Docker),
            _ => None,
        };
        let is_set = |path: &str, value: &str| {
            fs::read_to_string(Path::new("/proc/sys").join(path))
                .is_ok_and(|text| text.trim() == value)
        };
        let wrong = [
            (
                "kernel/unprivileged_userns_clone",
                "0",
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                "user/max_user_namespaces",
                "0",
                "user.max_user_namespaces=65536",
            ),
            (
                "kernel/apparmor_restrict_unprivileged_userns",
                "1",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
        ];
        let sysctls = wrong
            .into_iter()
            .filter(|(path, value, _)| is_set(path, value));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let targets = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        Self {
            container,
            sysctls: sysctls.map(|(_, _, right)| right).collect(),
            has_masked_proc: targets
                .into_iter()
                .any(|target| target.starts_with("/proc/")),
        }
    }
}

const ALTERNATIVES: &str = "If there can be no namespaces here, `--sandbox allow-landlocked` confines with Landlock \
instead, without any network. On a machine for development only, `--sandbox off` runs commands as the worker's own user.";
const IDENTITY: &str = "The worker is root and cannot become another user, for its user namespace lacks the numbers 60706 to 61183: \
run it as an ordinary user, or give the namespace 65536 users.";
const DOCKER: &str = "Give the container the profiles in deploy/ (docker-compose.yml shows how):\n  \
--security-opt seccomp=deploy/seccomp.json --security-opt apparmor=skillet-worker --security-opt systempaths=unconfined\n\
(first, where the host has AppArmor: apparmor_parser -r deploy/apparmor.profile). No capability and no --privileged is \
needed, and neither would be right.";
const KUBERNETES: &str = "In the pod's specification set `hostUsers: false`, and for the container's securityContext \
`procMount: Unmasked`, `seccompProfile: {type: Localhost, localhostProfile: …}` with deploy/seccomp.json, and \
`appArmorProfile: {type: Unconfined}`; or give the pod a runtimeClass with a kernel of its own (gVisor, Kata) and use \
`--sandbox allow-landlocked` in it.";

fn remedy(step: Step, errno: i32, host: &Host) -> String {
    let mut parts = Vec::new();
    if step == Step::Identity {
        return format!("{IDENTITY}\n\n{ALTERNATIVES}");
    }
    if !host.sysctls.is_empty() {
        parts.push(format!(
            "As root on the host: sysctl -w {} (and the same in /etc/sysctl.d/).",
            host.sysctls.join(" ")
        ));
    }
    match host.container {
        Some(Container::Docker) => parts.push(DOCKER.to_owned()),
        Some(Container::Kubernetes) => parts.push(KUBERNETES.to_owned()),
        None if parts.is_empty() => parts.extend(bare(step, errno)),
        None => {}
    }
    if step == Step::Proc && host.has_masked_proc && host.container.is_none() {
        parts.push("Something is mounted below /proc, as container engines do: run the worker where it is not.".to_owned());
    }
    parts.push(ALTERNATIVES.to_owned());
    parts.join("\n\n")
}

fn bare(step: Step, errno: i32) -> Option<String> {
    let text = match step {
        Step::Namespaces if errno == libc::ENOSPC => {
            "There are too many user namespaces: as root, sysctl -w user.max_user_namespaces=65536."
        }
        Step::Namespaces | Step::UserMap | Step::Mounts | Step::Proc | Step::Root => {
            "Unprivileged user namespaces are needed: a kernel of 5.14 or newer with CONFIG_USER_NS, and no seccomp filter or \
             security module around the worker that denies them."
        }
        Step::Landlock => {
            "Landlock needs a kernel of 5.19 or newer that was booted with it (lsm=landlock,…)."
        }
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(container: Option<Container>, sysctls: &[&'static str]) -> Host {
        Host {
            container,
            sysctls: sysctls.to_vec(),
            has_masked_proc: container.is_some(),
        }
    }

    #[test]
    fn each_host_is_told_its_own_remedy() {
        let told = |step, host: &Host| remedy(step, libc::EPERM, host);
        let ubuntu = told(
            Step::Mounts,
            &host(None, &["kernel.apparmor_restrict_unprivileged_userns=0"]),
        );
        assert!(ubuntu.contains("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"));
        let docker = told(Step::Namespaces, &host(Some(Container::Docker), &[]));
        assert!(docker.contains("systempaths=unconfined") && !docker.contains("procMount"));
        let pod = told(Step::Proc, &host(Some(Container::Kubernetes), &[]));
        assert!(pod.contains("procMount: Unmasked") && !pod.contains("systempaths"));
        let bare = told(Step::Namespaces, &host(None, &[]));
        assert!(bare.contains("CONFIG_USER_NS"));
        for text in [ubuntu, docker, pod, bare] {
            assert!(text.ends_with(ALTERNATIVES));
        }
    }
}
