//! The Helm chart: it renders valid manifests, and the program runs with the settings of its containers.

use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Service, process, run_script, until};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[tokio::test]
async fn the_manifests_are_valid_and_the_program_runs_as_their_containers_run_it() {
    let service = Service::without_worker().await;
    let Some(printed) = run_script(&service, "deploy/helm/check/run", &[]).await else {
        return;
    };
    let manifests: Vec<Value> = serde_json::from_str(&printed).unwrap();
    let migrate = pod(&manifests, "Job", "migrate");
    let mut migration = Run::start(&service, migrate, "migrate");
    let status = migration.process.end_within(Duration::from_secs(60)).await;
    assert!(status.unwrap().success(), "{}", service.logs());
    for component in ["api", "worker"] {
        let pod = pod(&manifests, "Deployment", component);
        let mut run = Run::start(&service, pod, component);
        let addresses = run.addresses();
        let container = &pod["containers"][0];
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let asked = &container[probe]["httpGet"];
            let port = asked["port"].as_str().unwrap();
            let (_, address) = addresses.iter().find(|(name, _)| name == port).unwrap();
            let url = format!("http://{address}{}", asked["path"].as_str().unwrap());
            until(async || reqwest::get(&url).await.unwrap().status() == StatusCode::OK).await;
        }
        let named = container["ports"].as_array().unwrap();
        let served: Vec<_> = addresses.iter().map(|(name, _)| name.as_str()).collect();
        let named: Vec<_> = named.iter().map(|port| port["name"].as_str()).collect();
        assert_eq!(named, served.into_iter().map(Some).collect::<Vec<_>>());
        run.process.signal(Signal::TERM);
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        let status = run.process.end_within(Duration::from_secs(grace)).await;
        assert!(status.unwrap().success(), "{}", service.logs());
    }
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = read("deploy/helm/skillet/Chart.yaml");
    let version = format!("appVersion: \"{}\"\n", env!("CARGO_PKG_VERSION"));
    assert!(chart.contains(&version), "{chart}");
}

#[test]
fn the_seccomp_and_apparmor_profiles_of_the_chart_are_in_the_repository() {
    let values = read("deploy/helm/skillet/values.yaml");
    assert!(values.contains("seccompProfile: skillet.json\n"));
    assert!(values.contains("appArmorProfile: skillet-worker\n"));
    assert!(read("deploy/apparmor.profile").contains("profile skillet-worker "));
    assert!(Path::new(ROOT).join("deploy/seccomp.json").is_file());
}

/// Returns the pod of a component.
fn pod<'a>(manifests: &'a [Value], kind: &str, component: &str) -> &'a Value {
    let name = format!("release-skillet-{component}");
    let found = manifests
        .iter()
        .find(|manifest| manifest["kind"] == kind && manifest["metadata"]["name"] == name);
    &found.unwrap_or_else(|| panic!("no {kind} {name}"))["spec"]["template"]["spec"]
}

/// A process with the arguments and variables of a container. Only the ports, directories and asset store are those
/// of the test.
struct Run {
    process: process::Process,
    arguments: Vec<String>,
}

impl Run {
    fn start(service: &Service, pod: &Value, component: &str) -> Self {
        let container = &pod["containers"][0];
        let arguments = container["args"].as_array().unwrap();
        let arguments: Vec<String> = arguments
            .iter()
            .map(|it| match it.as_str().unwrap() {
                "0.0.0.0:8420" | "0.0.0.0:9420" => "127.0.0.1:0".to_owned(),
                other => other.to_owned(),
            })
            .collect();
        let known = read("docs/configuration.md");
        let mut environment = Vec::new();
        for variable in container["env"].as_array().into_iter().flatten() {
            let name = variable["name"].as_str().unwrap();
            assert!(known.contains(&format!("`{name}`")), "{name} is unknown");
            environment.push((
                name.to_owned(),
                variable["value"].as_str().unwrap().to_owned(),
            ));
        }
        let home = service.home.path();
        let folder = |name: &str| home.join(name).display().to_string();
        for (name, value) in [
            ("DATABASE_URL", service.database_url.clone()),
            ("SKILLET_DATA_DIR", folder(component)),
            ("SKILLET_ASSETS", folder("assets")),
        ] {
            environment.retain(|(given, _)| given != name);
            environment.push((name.to_owned(), value));
        }
        let log = home.join(format!("pod-{component}.log"));
        let borrowed: Vec<_> = arguments.iter().map(String::as_str).collect();
        let process = process::start(&borrowed, &environment, &log);
        Self { process, arguments }
    }

    /// Returns the addresses of the ports, by the names in the manifests.
    fn addresses(&mut self) -> Vec<(String, String)> {
        let mut addresses = Vec::new();
        for (flag, port, before) in [
            ("--listen", "http", "listening on http://"),
            ("--metrics-listen", "metrics", "metrics at http://"),
        ] {
            if self.arguments.iter().any(|it| it == flag) {
                let line = self.process.first_line();
                let address = line
                    .strip_prefix(before)
                    .unwrap_or_else(|| panic!("{line}"));
                let address = address.trim_end_matches("/metrics").to_owned();
                addresses.push((port.to_owned(), address));
            }
        }
        addresses
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}
