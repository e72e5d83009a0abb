"""Runs the scripts of built-in skills on real files, in the environment of a job."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SKILLS = Path(__file__).resolve().parents[2] / "skills"
# One folder for the whole run, so that the profile of LibreOffice is created only once.
TEMPORARY = tempfile.TemporaryDirectory(prefix="skill-scripts-")
# The PATH of jobs.
JOB_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {
    "PATH": JOB_PATH,
    "HOME": TEMPORARY.name,
    "TMPDIR": TEMPORARY.name,
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_THREAD_LIMIT": "1",
}


def need(*programs: str) -> None:
    """Fails with the names of the missing programs."""
    missing = [one for one in programs if shutil.which(one, path=JOB_PATH) is None]
    if missing:
        raise AssertionError(f"missing: {' '.join(missing)}; scripts/install-programs installs them")


class ScriptTest(unittest.TestCase):
    """A test of one skill's scripts, in its own folder."""

    skill = ""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=TEMPORARY.name))

    def run_script(self, script: str, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a script with the Python of jobs."""
        command = ["/usr/bin/python3", str(SKILLS / self.skill / "scripts" / script), *map(str, arguments)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            input=stdin,
            cwd=self.folder,
            env=ENVIRONMENT,
            check=False,
            timeout=300,
        )

    def ok(self, script: str, *arguments: object, stdin: str = "") -> str:
        """Runs a script that must succeed. Returns its output."""
        done = self.run_script(script, *arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout + done.stderr)
        return done.stdout

    def fails(self, script: str, *arguments: object, stdin: str = "") -> str:
        """Runs a script that must fail with a one-line error and status 1. Returns the line."""
        done = self.run_script(script, *arguments, stdin=stdin)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def python(self, code: str) -> str:
        """Runs code like that of a model, with the skill's modules on the path. Returns its output."""
        head = f"import sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, {str(SKILLS / self.skill / 'scripts')!r})\n"
        done = subprocess.run(
            ["/usr/bin/python3", "-c", head + code],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=ENVIRONMENT,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def picture(self, name: str = "bars.png") -> Path:
        """Creates a small picture and returns its path."""
        self.python(f"from PIL import Image\nImage.new('RGB', (300, 120), '#1f5a7a').save({name!r})")
        return self.folder / name

    def hostile_packages(self, part: str, ending: str) -> list[Path]:
        """Creates invalid office files: damaged, incomplete and malicious ones. Returns their paths."""
        text = self.folder / f"text.{ending}"
        text.write_text("not a package")
        cut = self.folder / f"cut.{ending}"
        whole = self.folder / f"bomb.{ending}"
        entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "lol"}">' for n in range(9))
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as package:
            package.writestr("[Content_Types].xml", "<Types/>")
            package.writestr(part, f"<!DOCTYPE x [{entities}]><x>&e8;</x>")
        cut.write_bytes(whole.read_bytes()[:-40])
        other = self.folder / f"other.{ending}"
        with zipfile.ZipFile(other, "w") as package:
            package.writestr("readme.txt", "x")
        huge = self.folder / f"huge.{ending}"
        with zipfile.ZipFile(huge, "w", zipfile.ZIP_DEFLATED) as package, package.open(part, "w") as inside:
            inside.write(b"<x>")
            for _ in range(130):
                inside.write(b" " * 1024 * 1024)
            inside.write(b"</x>")
        return [text, cut, whole, other, huge, self.folder / f"missing.{ending}"]


if __name__ == "__main__":
    sys.exit(f"run: /usr/bin/python3 -B -m unittest discover -s {os.path.relpath(Path(__file__).parent)}")
