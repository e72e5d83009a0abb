"""Checks the chart with Helm and the schemas of Kubernetes, and prints its manifests as JSON."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

KUBERNETES = "1.33"
CUSTOM = Path(__file__).parent / "custom"
# Values that enable every part of the chart.
EVERYTHING: dict[str, Any] = {
    "assets.url": "s3://bucket/prefix",
    "api.publicUrl": "https://skillet.example.com",
    "worker.existingSecret": "skillet-providers",
    "worker.autoscaling.enabled": True,
    "ingress.enabled": True,
    "ingress.host": "skillet.example.com",
    "ingress.tlsSecret": "skillet-tls",
    "serviceMonitor.enabled": True,
    "dashboard.enabled": True,
}
PEERS = [{"podSelector": {"matchLabels": {"role": "peer"}}}]
# Alternative values for entries that are neither numbers nor booleans.
OTHER: dict[str, Any] = {
    "image.pullPolicy": "Always",
    "image.pullSecrets": [{"name": "pull"}],
    "assets.url": "s3://other",
    "worker.sandbox.mode": "allow-landlocked",
    "worker.sandbox.procMount": "Default",
    "worker.autoscaling.targetUtilization": 0.5,
    "worker.dataSize": "1Gi",
    "podDisruptionBudget.maxUnavailable": "50%",
    "networkPolicy.apiFrom": PEERS,
    "networkPolicy.metricsFrom": PEERS,
    "networkPolicy.extraEgress": [{"ports": [{"port": 11434, "protocol": "TCP"}]}],
    "service.type": "LoadBalancer",
    "serviceMonitor.interval": "1m",
    "tolerations": [{"key": "sandbox", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "resources": {"requests": {"cpu": "3"}},
}
# Other values that are required for a value to have an effect.
NEEDS: dict[str, dict[str, Any]] = {
    "api.replicas": {"api.autoscaling.enabled": False},
    "worker.replicas": {"worker.autoscaling.enabled": False},
    "assets.existingClaim": {"assets.url": "", "assets.existingClaim": "claim"},
}
REFUSED: list[dict[str, Any]] = [
    {"nonsense": 1},
    {"worker.sandbox.mode": "maybe"},
    {"worker.slots": 0},
    {"assets.url": "https://bucket"},
    {"assets.url": ""},
    {"ingress.host": ""},
    {"existingSecret": ""},
]


def nested(values: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        *parents, last = path.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    return tree


def run(helm: str, arguments: list[str], values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [helm, *arguments, "--values", "-"],
        input=json.dumps(nested(values)),
        capture_output=True,
        text=True,
        check=False,
    )


def render(helm: str, chart: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    done = run(helm, ["template", "release", chart, "--namespace", "test", "--kube-version", KUBERNETES], values)
    if done.returncode:
        sys.exit(f"helm template with {values}: {done.stderr}")
    return [it for it in yaml.load_all(done.stdout, yaml.CSafeLoader) if it]


def validate(manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        schema = CUSTOM / f"{manifest['kind']}.json"
        if schema.exists():
            jsonschema.validate(manifest, json.loads(schema.read_text()))
        else:
            kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def leaves(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        is_group = isinstance(value, dict) and value and not {"annotations", "labels", "resources"} & {name}
        if is_group:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def changed(path: str, value: Any) -> Any:
    name = path.rsplit(".", 1)[-1]
    if path in OTHER or name in OTHER:
        return OTHER.get(path, OTHER.get(name))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, dict):
        return {"CHANGED": "changed"}
    return f"changed-{value}" if isinstance(value, str) else sys.exit(f"{path} has no other value in check.py")


def check_env(manifests: list[dict[str, Any]], variable: dict[str, str]) -> None:
    """Checks that a variable of `env` reaches the containers of all processes."""
    workloads = [it for it in manifests if it["kind"] in ("Deployment", "Job")]
    containers = [container for it in workloads for container in it["spec"]["template"]["spec"]["containers"]]
    having = {container["name"] for container in containers if variable in (container.get("env") or [])}
    if having != {"api", "worker", "migrate"}:
        sys.exit(f"a variable of env reaches only the containers {sorted(having)}")


def main() -> None:
    helm, chart = sys.argv[1:]
    linted = run(helm, ["lint", "--strict", chart], EVERYTHING)
    if linted.returncode:
        sys.exit(linted.stdout + linted.stderr)
    validate(render(helm, chart, {"assets.url": "s3://bucket"}))
    everything = render(helm, chart, EVERYTHING)
    validate(everything)
    for path, default in leaves(yaml.safe_load((Path(chart) / "values.yaml").read_text())):
        base = EVERYTHING | NEEDS.get(path, {})
        value = changed(path, base.get(path, default))
        before = render(helm, chart, base) if path in NEEDS else everything
        after = render(helm, chart, base | {path: value})
        if before == after:
            sys.exit(f"the value {path} has no effect")
        if path == "env":
            check_env(after, {"name": "CHANGED", "value": "changed"})
        validate([manifest for manifest in after if manifest not in before])
    for values in REFUSED:
        if not run(helm, ["template", "release", chart], EVERYTHING | values).returncode:
            sys.exit(f"the chart accepts the invalid values {values}")
    print(json.dumps(everything))


if __name__ == "__main__":
    main()
