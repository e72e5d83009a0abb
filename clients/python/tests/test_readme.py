"""Tests of the Python code in the documentation and of the example: it runs and prints what its comments show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Service

ROOT = Path(__file__).parents[1]
PAGES = [page for page in (ROOT / "README.md", ROOT / "../../docs/clients.md") if page.exists()]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_has_no_type_errors(page: Path, tmp_path: Path) -> None:
    code = tmp_path / "page.py"
    code.write_text("\n".join(BLOCK.findall(page.read_text("utf-8"))), "utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "page.py"]
    done = subprocess.run(mypy, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(
    page: Path,
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SKILLET_URL", service.url)
    monkeypatch.setenv("SKILLET_API_KEY", service.key)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert blocks
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
        assert capsys.readouterr().out.splitlines() == PRINTED.findall(block)


def test_the_example_saves_its_page(service: Service, tmp_path: Path) -> None:
    example = ROOT / "examples/report.py"
    environment = os.environ | {"SKILLET_URL": service.url, "SKILLET_API_KEY": service.key}
    done = subprocess.run(
        [sys.executable, example], check=True, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout.splitlines() == ["approve shell.exec", "tool ok", "tool ok", "saved prices.html"]
    assert "rye,3\nspelt,4" in (tmp_path / "prices.html").read_text()
