"""The build hook that generates `skillet_client.generated` from the OpenAPI document."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The paths of these files in the repository. A source distribution has the files in its root folder.
OUTSIDE = {
    "openapi.json": "../../openapi/openapi.json",
    "scenario.json": "../scenario.json",
    "webhook.json": "../webhook.json",
    "LICENSE-MIT": "../../LICENSE-MIT",
    "LICENSE-APACHE": "../../LICENSE-APACHE",
}

# Regular expressions and replacements that turn `async_client.py` into `client.py`.
SYNC = {
    "asyncio. The build makes .*": 'blocking programs."""',
    r"\b(async|await) ": "",
    r"AsyncGenerator\[(\w+), None\]": r"Generator[\1, None, None]",
    r"Awaitable\[object\]": "object",
    r"Async(?=[A-Z])|async_(?=httpx)": "",
    r"\basyncio\b": "time",
    r"\b(_*)a(?=close|closing|read\b|iter_|enter|exit)": r"\1",
}


class GenerateClient(BuildHookInterface[Any]):
    """Adds the generated code to the wheel, and the inputs of the generator to the source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if self.target_name == "sdist":
            build_data["force_include"] |= {str(find(root, name)): name for name in OUTSIDE}
        else:
            generate(root, find(root, "openapi.json"))


def find(root: Path, name: str) -> Path:
    """Returns the path of a file in the source distribution or in the repository."""
    in_sdist, in_repository = root / name, root / OUTSIDE[name]
    return in_sdist if in_sdist.exists() else in_repository.resolve(strict=True)


def generate(root: Path, document: Path) -> None:
    """Writes the package `generated` and the module `client`."""
    package = root / "src/skillet_client"
    generated, client = package / "generated", package / "client.py"
    shutil.rmtree(generated, ignore_errors=True)
    generator = ["openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    settings = ["--config", str(root / "generator.yaml"), "--custom-template-path", str(root / "templates")]
    python(*generator, *settings, "--path", document, "--output-path", generated)
    (generated / "event.py").write_text(event_module(json.loads(document.read_text("utf-8"))), "utf-8")
    client.write_text(sync_module((package / "async_client.py").read_text("utf-8")), "utf-8")
    ruff = ["ruff", "--isolated", "--quiet"]
    python(*ruff, "check", "--no-cache", "--select", "F401,I", "--fix", generated, client)
    python(*ruff, "format", "--no-cache", "--line-length", "120", generated, client)


def sync_module(source: str) -> str:
    """Converts the source of the asynchronous client to the blocking client."""
    for asynchronous, blocking in SYNC.items():
        source = re.sub(asynchronous, blocking, source)
    return source


def python(*arguments: str | Path) -> None:
    """Runs a module of the build environment."""
    subprocess.run([sys.executable, "-m", *arguments], check=True, stdout=subprocess.DEVNULL)


def event_module(document: dict[str, Any]) -> str:
    """Returns the source of a module with the union of all events, which the generator does not create."""
    mapping = document["components"]["schemas"]["Event"]["discriminator"]["mapping"]
    classes = {kind: reference.rpartition("/")[2] for kind, reference in mapping.items()}
    imports = ", ".join(classes.values())
    entries = ", ".join(f"{kind!r}: {name}" for kind, name in classes.items())
    return f'''"""The events of a job's log."""

from typing import TypeAlias

from .models import {imports}

Event: TypeAlias = {" | ".join(classes.values())}
EVENTS: dict[str, type[Event]] = {{{entries}}}
'''
