"""Opens one page in Chromium and looks at it, over the DevTools protocol on two pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from urllib.parse import parse_qs, urlsplit

PATIENCE_SECONDS = 40
# A page whose network is quiet for so long is taken to be complete; one that never is, is taken as it stands.
QUIET_SECONDS = 0.5
LOAD_SECONDS = 20
STATE = ".skillet/browser.json"
MAX_PIXELS = 16_000
# Where search engines show results: a part of the host's name, the path, and the parameter with what was asked.
SEARCHES = [
    ("google.", "/search", "q"), ("bing.com", "/search", "q"), ("duckduckgo.com", "", "q"),
    ("search.yahoo.", "/search", "p"), ("yandex.", "/search", "text"), ("baidu.com", "/s", "wd"),
    ("ecosia.org", "/search", "q"), ("startpage.com", "", "query"), ("search.brave.com", "/search", "q"),
    ("qwant.com", "", "q"), ("kagi.com", "/search", "q"), ("ask.com", "/web", "q"), ("naver.com", "/search", "query"),
    ("sogou.com", "/web", "query"), ("mojeek.com", "/search", "q"), ("swisscows.com", "", "query"),
]


class Trouble(Exception):
    """Something that the model should know."""


def is_search(url):
    parts = urlsplit(url)
    host = "." + (parts.hostname or "")
    asked = parse_qs(parts.query)
    return any(
        "." + name in host and parts.path.startswith(path) and parameter in asked
        for name, path, parameter in SEARCHES
    )


def check(url):
    if is_search(url):
        raise Trouble(f"{url} is a page of search results, and those are not read: open the pages themselves")
    return url


def address(given):
    """The page that is meant: a URL, or a file of the workspace."""
    if given is None:
        try:
            with open(STATE, encoding="utf-8") as file:
                return json.load(file)["url"]
        except (OSError, ValueError, KeyError) as error:
            raise Trouble("no page was opened before: give a url") from error
    scheme = urlsplit(given).scheme
    if scheme in ("http", "https"):
        return check(given)
    path = os.path.realpath(given.removeprefix("file://"))
    if scheme in ("", "file") and path.startswith(os.getcwd() + "/") and os.path.isfile(path):
        return "file://" + path
    raise Trouble(f"`{given}` is neither an http or https URL nor a file of the workspace")


class Browser:
    """A Chromium of our own, on one page."""

    def __init__(self, width, height):
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if program is None:
            raise Trouble("there is no Chromium here")
        self.deadline = time.monotonic() + PATIENCE_SECONDS
        self.folder = tempfile.mkdtemp()
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.reader, self.writer = ours_in, ours_out
        self.number, self.buffer, self.waiting = 0, b"", []
        proxy = os.environ.get("http_proxy")
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.folder}",
            # It runs in a sandbox already, in which it can make none of its own.
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
            "--disable-extensions", "--disable-features=Translate,MediaRouter", "--hide-scrollbars",
            f"--window-size={width},{height}",
            *([f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>"] if proxy else []), "about:blank",
        ]
        # It reads at 3 and writes at 4.
        move = f"exec 3<&{theirs_in} 4>&{theirs_out}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", move, "bash", *arguments],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.status, self.requests, self.failure, self.refused = None, set(), None, False
        # A window cannot be as narrow as a telephone; what is shown in it can.
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )

    def close(self):
        self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            message = self.receive(self.deadline)
            if message is None:
                raise Trouble("the browser does not answer")
            if message.get("id") == number:
                if "error" in message:
                    raise Trouble(f"the browser refused: {message['error'].get('message')}")
                return message["result"]
            self.waiting.append(message)

    def receive(self, until):
        """The next message; `None` if there is none until then."""
        while b"\0" not in self.buffer:
            left = min(until, self.deadline) - time.monotonic()
            if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                return None
            piece = os.read(self.reader, 1 << 20)
            if not piece:
                raise Trouble("the browser broke down; the page may be too large for it")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, url):
        self.call("Page.enable")
        self.call("Network.enable")
        # Every page of the main frame passes here, also one that another leads to.
        self.call("Fetch.enable", patterns=[{"urlPattern": "*", "resourceType": "Document"}])
        self.send("Page.navigate", url=url)
        loaded, quiet_since = False, time.monotonic()
        until = time.monotonic() + LOAD_SECONDS
        while time.monotonic() < until and self.failure is None:
            message = self.waiting.pop(0) if self.waiting else self.receive(time.monotonic() + 0.1)
            if message is not None:
                loaded |= self.hear(message)
                if self.requests or message.get("method", "").startswith("Network."):
                    quiet_since = time.monotonic()
            elif loaded and not self.requests and time.monotonic() - quiet_since > QUIET_SECONDS:
                break
        if self.failure:
            raise Trouble(self.failure)
        if self.refused:
            raise Trouble(self.evaluate("() => document.body.innerText.trim()"))

    def hear(self, message):
        method, data = message.get("method"), message.get("params", {})
        if method == "Fetch.requestPaused":
            url = data["request"]["url"]
            if is_search(url):
                self.failure = f"the page led to search results ({url}), and those are not read"
                self.send("Fetch.failRequest", requestId=data["requestId"], errorReason="BlockedByClient")
            else:
                self.send("Fetch.continueRequest", requestId=data["requestId"])
        elif method == "Network.requestWillBeSent":
            self.requests.add(data["requestId"])
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self.requests.discard(data["requestId"])
            if data.get("type") == "Document" and data.get("errorText") and self.status is None:
                self.failure = f"the page could not be loaded: {data['errorText']}"
        elif method == "Network.responseReceived" and data.get("type") == "Document" and self.status is None:
            self.status = data["response"]["status"]
            if data["response"]["headers"].get("proxy-status") == "skillet":
                self.refused = True
        return method == "Page.loadEventFired"

    def evaluate(self, script, argument=None):
        expression = f"({script})({json.dumps(argument)})"
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            details = got["exceptionDetails"]
            words = details.get("exception", {}).get("description") or details.get("text")
            raise Trouble(f"the page could not be looked at: {str(words).splitlines()[0]}")
        return got["result"].get("value")


def main(look):
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            asked = json.load(file)
        url = address(asked.get("url"))
        browser = Browser(asked.get("width") or 1280, asked.get("height") or 900)
        try:
            browser.open(url)
            result = look(browser, asked)
        finally:
            browser.close()
        os.makedirs(os.path.dirname(STATE), exist_ok=True)
        with open(STATE, "w", encoding="utf-8") as file:
            json.dump({"url": url}, file)
        json.dump(result, sys.stdout, ensure_ascii=False)
    except Trouble as trouble:
        sys.exit(str(trouble))
