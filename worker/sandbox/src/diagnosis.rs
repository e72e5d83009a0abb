//! The diagnosis for a machine that cannot run sandboxes, with a remedy for its operator.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::geteuid;
use shared::sandbox::Isolation;

use super::spec::{SetupFailed, SetupStep};

/// The error that this machine cannot run a sandbox, or not a safe one.
#[derive(Debug, thiserror::Error)]
#[error("commands cannot be confined on this machine: {reason}\n\n{remedy}")]
pub struct Unavailable {
    /// The problem.
    pub reason: String,
    /// The remedy.
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
    /// The sandbox was set up, but the self-test escaped from it.
    pub(super) fn leaks(isolation: Isolation, holes: &str) -> Self {
        let remedy = match isolation {
            Isolation::Landlocked => OLD_LANDLOCK,
            _ => "This should not happen: please report it with the kernel version.",
        };
        Self {
            reason: format!("a sandbox was set up, but its self-test found problems: {holes}"),
            remedy: remedy.to_owned(),
        }
    }

    /// A failure outside of the setup steps.
    pub(super) fn other(error: &anyhow::Error) -> Self {
        let is_denied = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        let remedy = if is_denied && geteuid().is_root() {
            format!("{IDENTITY}\n\n{ALTERNATIVES}")
        } else {
            ALTERNATIVES.to_owned()
        };
        Self {
            reason: format!("{error:#}"),
            remedy,
        }
    }
}

/// The properties of a host that determine the remedy.
struct Host {
    container: Option<Container>,
    /// The sysctls that prevent namespaces, with the values that allow them.
    sysctls: Vec<&'static str>,
    /// Whether AppArmor denies user namespaces to programs without a profile, as on Ubuntu. Containers have a profile.
    has_restricted_namespaces: bool,
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
        ];
        let sysctls = wrong
            .into_iter()
            .filter(|(path, value, _)| is_set(path, value));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let targets = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        Self {
            container,
            sysctls: sysctls.map(|(_, _, right)| right).collect(),
            has_restricted_namespaces: is_set("kernel/apparmor_restrict_unprivileged_userns", "1"),
            has_masked_proc: targets
                .into_iter()
                .any(|target| target.starts_with("/proc/")),
        }
    }
}

const ALTERNATIVES: &str = "If namespaces are not possible here, `--sandbox allow-landlocked` confines commands with \
Landlock instead, without any network. For development only, `--sandbox off` runs commands as the worker's own user.";
const IDENTITY: &str = "The worker is root and cannot become another user: its user namespace lacks the ids 60706 to 61183, or it \
lacks capabilities. Run it as an ordinary user, which needs neither; in a container, use the user of the image.";
const OLD_LANDLOCK: &str = "Landlock confines signals from Linux 6.12 on. With an older kernel, it is sufficient only if the worker is \
root and gives each job its own user.";
const DOCKER: &str = "Give the container the profiles in deploy/ (see docker-compose.yml):\n  \
--security-opt seccomp=deploy/seccomp.json --security-opt apparmor=skillet-worker --security-opt systempaths=unconfined\n\
(if the host has AppArmor, first run as root: apparmor_parser -r -W deploy/apparmor.profile). Do not add capabilities \
or --privileged: they are not needed.";
const KUBERNETES: &str = "In the pod's specification, set `hostUsers: false`. In the container's securityContext, set \
`procMount: Unmasked`, `seccompProfile: {type: Localhost, localhostProfile: …}` with deploy/seccomp.json, and \
`appArmorProfile: {type: Localhost, localhostProfile: skillet-worker}` (the chart in deploy/helm/skillet does this). Or give the pod a \
runtimeClass with its own kernel (gVisor, Kata) and use `--sandbox allow-landlocked` in it.";
const APPARMOR: &str = "AppArmor restricts user namespaces on this machine to programs with a profile. As root, copy \
deploy/apparmor-host.profile to /etc/apparmor.d/skillet, and load it with apparmor_parser -r /etc/apparmor.d/skillet. The \
profile applies to /usr/local/bin/skillet and /usr/bin/skillet.";

fn remedy(step: SetupStep, errno: i32, host: &Host) -> String {
    let mut parts = Vec::new();
    if step == SetupStep::Identity {
        return format!("{IDENTITY}\n\n{ALTERNATIVES}");
    }
    if !host.sysctls.is_empty() {
        parts.push(format!(
            "As root on the host, run sysctl -w {} (and set the same in /etc/sysctl.d/).",
            host.sysctls.join(" ")
        ));
    }
    match host.container {
        Some(container) => parts.push(in_container(container, step)),
        None if host.has_restricted_namespaces => parts.push(APPARMOR.to_owned()),
        None if parts.is_empty() => parts.extend(bare(step, errno, host)),
        None => {}
    }
    parts.push(ALTERNATIVES.to_owned());
    parts.join("\n\n")
}

/// Returns everything that a container needs, and names the part that this step misses.
fn in_container(container: Container, step: SetupStep) -> String {
    let (all, names) = match container {
        Container::Docker => (DOCKER, ["seccomp", "apparmor", "systempaths"]),
        Container::Kubernetes => (
            KUBERNETES,
            ["seccompProfile", "appArmorProfile", "procMount"],
        ),
    };
    let missing = match step {
        SetupStep::Namespaces => names[0],
        SetupStep::Mounts => names[1],
        SetupStep::Proc => names[2],
        _ => return all.to_owned(),
    };
    format!("{all} The setting `{missing}` is missing, or it is not the one in deploy/.")
}

fn bare(step: SetupStep, errno: i32, host: &Host) -> Option<String> {
    let text = match step {
        SetupStep::Namespaces if errno == libc::ENOSPC => {
            "There are too many user namespaces: as root, run sysctl -w user.max_user_namespaces=65536."
        }
        SetupStep::Proc if host.has_masked_proc => {
            "Something is mounted below /proc, as in a container: run the worker where nothing is mounted there."
        }
        SetupStep::Namespaces
        | SetupStep::UserMap
        | SetupStep::Mounts
        | SetupStep::Proc
        | SetupStep::Root
        | SetupStep::Network
        | SetupStep::Privileges => {
            "Unprivileged user namespaces are needed: use a kernel of 5.14 or newer with CONFIG_USER_NS, and let no seccomp \
             filter (in a systemd unit, RestrictNamespaces or ProtectHostname) or security module deny them to the worker."
        }
        SetupStep::Landlock => {
            "Landlock needs a kernel of 5.19 or newer that was booted with it (lsm=landlock,…)."
        }
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: Host = Host {
        container: None,
        sysctls: Vec::new(),
        has_restricted_namespaces: false,
        has_masked_proc: false,
    };

    fn contained(container: Container) -> Host {
        Host {
            container: Some(container),
            has_masked_proc: true,
            ..BARE
        }
    }

    #[test]
    fn each_host_is_told_its_own_remedy() {
        let told = |step, host: &Host| remedy(step, libc::EPERM, host);
        let debian = Host {
            sysctls: vec!["kernel.unprivileged_userns_clone=1"],
            ..BARE
        };
        let debian = told(SetupStep::Namespaces, &debian);
        assert!(debian.contains("sysctl -w kernel.unprivileged_userns_clone=1"));
        let ubuntu = Host {
            has_restricted_namespaces: true,
            ..BARE
        };
        let ubuntu = told(SetupStep::Mounts, &ubuntu);
        assert!(ubuntu.contains("deploy/apparmor-host.profile"));
        let docker = told(SetupStep::Namespaces, &contained(Container::Docker));
        assert!(docker.contains("systempaths=unconfined") && !docker.contains("procMount"));
        assert!(docker.contains("`seccomp` is missing"));
        let pod = told(SetupStep::Proc, &contained(Container::Kubernetes));
        assert!(pod.contains("procMount: Unmasked") && !pod.contains("systempaths"));
        assert!(pod.contains("`procMount` is missing"));
        let bare = told(SetupStep::Namespaces, &BARE);
        assert!(bare.contains("CONFIG_USER_NS"));
        let root = told(SetupStep::Identity, &contained(Container::Docker));
        assert!(root.contains("as an ordinary user") && !root.contains("seccomp"));
        for text in [debian, ubuntu, docker, pod, bare, root] {
            assert!(text.ends_with(ALTERNATIVES));
        }
    }
}
