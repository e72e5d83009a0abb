"""A headless browser, controlled through a pipe. It loads nothing from the network."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

sys.dont_write_bytecode = True

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


class Problem(Exception):
    """An error that the caller can correct. Its text is one line."""


def run(main: Callable[[], int | None]) -> None:
    """Runs a script. Prints any error as one line on standard error, and exits with status 1."""
    tool = Path(sys.argv[0]).stem
    try:
        sys.exit(main() or 0)
    except Problem as problem:
        message = str(problem)
    except Exception as error:
        message = f"the page cannot be checked ({type(error).__name__}: {error})"
    print(f"{tool}: {' '.join(message.split())[:500]}", file=sys.stderr)
    sys.exit(1)


class Browser:
    """A browser with one page."""

    def __init__(self, timeout: float = 60) -> None:
        program = next((one for one in PROGRAMS if shutil.which(one)), None)
        if program is None:
            raise Problem("chromium is not installed")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._timeout, self._number, self._rest = timeout, 0, b""
        self.events: list[dict[str, Any]] = []
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Not 3 and 4, which are needed for the browser's ends of the pipes.
        ends = [fcntl.fcntl(one, fcntl.F_DUPFD, 20) for one in (theirs_in, theirs_out)]

        def connect() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        command = [program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        command += ["--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking"]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self._folder.name}", "about:blank"]
        # The pipes must be at 3 and 4 before the browser starts.
        self._process = subprocess.Popen(
            command, pass_fds=(3, 4), preexec_fn=connect, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for one in (theirs_in, theirs_out, *ends):
            os.close(one)
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method of the browser's protocol and returns its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._wait(lambda found: found.get("id") == self._number, method)

    def wait_for(self, event: str) -> None:
        """Waits for an event, unless it has already occurred."""
        if not any(one["method"] == event for one in self.events):
            self._wait(lambda found: found.get("method") == event, event)

    def _wait(self, is_meant: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        end = time.monotonic() + self._timeout
        while True:
            while b"\0" not in self._rest:
                ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
                chunk = os.read(self._in, 1 << 20) if ready else b""
                if not chunk:
                    raise Problem(f"the browser does not respond to {what}")
                self._rest += chunk
            line, self._rest = self._rest.split(b"\0", 1)
            found: dict[str, Any] = json.loads(line)
            if "method" in found:
                self.events.append(found)
            if is_meant(found):
                if "error" in found:
                    raise Problem(f"{what}: {found['error'].get('message')}")
                return dict(found.get("result", {}))

    def open(self, page: Path, width: int, is_dark: bool) -> None:
        """Opens a file at a width, in light or dark colours, and waits until it is rendered."""
        self.events.clear()
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        found = self.call("Page.navigate", url=page.absolute().as_uri())
        if found.get("errorText"):
            raise Problem(f"{page}: {found['errorText']}")
        self.wait_for("Page.loadEventFired")
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))")

    def evaluate(self, script: str) -> Any:
        """Returns the value of a script in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise Problem(f"the measuring script failed: {found['exceptionDetails'].get('text')}")
        return found["result"].get("value")

    def picture(self, path: Path, width: int) -> None:
        """Saves a picture of the whole page, up to a height of 9,000 pixels."""
        height = min(int(self.evaluate("document.documentElement.scrollHeight")), 9000)
        area = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=area)
        path.write_bytes(base64.b64decode(found["data"]))

    def print(self, path: Path) -> None:
        """Prints the page as a PDF."""
        found = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(found["data"]))
