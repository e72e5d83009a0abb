"""Chromium, controlled over the DevTools protocol on two pipes: its start, its open pages and their events."""

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
# A page is complete when its network was quiet for this time. `LOAD_SECONDS` limits the wait for other pages.
QUIET_SECONDS = 0.5
LOAD_SECONDS = 20
# A request that begins later than this after a page has loaded, or after a step, is not waited for, because many pages
# poll forever. After a slow response, this time begins again, because the next request may depend on the response.
FOLLOW_SECONDS = 1
# The maximum number of open pages. An additional page is closed immediately.
MAX_TABS = 8
MAX_PIXELS = 16_000
DOWNLOADS = "downloads"
# The result pages of search engines: a part of the host name, the path, and the parameter with the query.
SEARCHES = [
    ("google.", "/search", "q"), ("bing.com", "/search", "q"), ("duckduckgo.com", "", "q"),
    ("search.yahoo.", "/search", "p"), ("yandex.", "/search", "text"), ("baidu.com", "/s", "wd"),
    ("ecosia.org", "/search", "q"), ("startpage.com", "", "query"), ("search.brave.com", "/search", "q"),
    ("qwant.com", "", "q"), ("kagi.com", "/search", "q"), ("ask.com", "/web", "q"), ("naver.com", "/search", "query"),
    ("sogou.com", "/web", "query"), ("mojeek.com", "/search", "q"), ("swisscows.com", "", "query"),
]


class Trouble(Exception):
    """An error that is reported to the model."""


class Gone(Trouble):
    """The browser has ended."""


def is_search(url):
    parts = urlsplit(url)
    host = "." + (parts.hostname or "")
    asked = parse_qs(parts.query)
    return any(
        "." + name in host and parts.path.startswith(path) and parameter in asked
        for name, path, parameter in SEARCHES
    )


def address(given):
    """Returns the URL of a web page, or the `file:` URL of a file in the workspace."""
    scheme = urlsplit(given).scheme
    if scheme in ("http", "https"):
        if is_search(given):
            raise Trouble(f"{given} is a page of search results, which cannot be opened: open the target page directly")
        return given
    path = os.path.realpath(given.removeprefix("file://"))
    if scheme in ("", "file") and path.startswith(os.getcwd() + "/") and os.path.isfile(path):
        return "file://" + path
    raise Trouble(f"`{given}` is neither an http or https URL nor a file of the workspace")


class Tab:
    """An open page, with the state of its last navigation."""

    def __init__(self, session, target):
        self.session, self.target = session, target
        self.loaded, self.requests, self.follows_until = True, {}, 0
        self.document, self.status, self.failure, self.refused = None, None, None, False

    def navigate(self, request):
        """Starts to track another navigation."""
        self.loaded, self.requests = False, {request: time.monotonic()}
        self.document, self.status, self.refused = request, None, False


class Browser:
    """A Chromium process that this script starts and controls."""

    def __init__(self, width=1280, height=900, keep_downloads=False):
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if program is None:
            raise Trouble("Chromium is not installed on this worker")
        self.deadline = time.monotonic() + PATIENCE_SECONDS
        self.folder = tempfile.mkdtemp()
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.reader, self.writer = ours_in, ours_out
        self.number, self.buffer = 0, b""
        self.tabs, self.width, self.height = [], width, height
        self.notes, self.downloads = [], {}
        self.accepts_dialogs, self.last_event = False, time.monotonic()
        proxy = os.environ.get("http_proxy")
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.folder}",
            # Chromium runs in a sandbox in which it cannot create its own.
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
            "--disable-extensions", "--disable-features=Translate,MediaRouter", "--hide-scrollbars",
            f"--window-size={width},{height}",
            *([f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>"] if proxy else []), "about:blank",
        ]
        # Chromium reads from descriptor 3 and writes to descriptor 4.
        move = f"exec 3<&{theirs_in} 4>&{theirs_out}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", move, "bash", *arguments],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        # New pages, including those that pages open, are tracked before they load anything.
        self.call(
            "Target.setAutoAttach", None, autoAttach=True, waitForDebuggerOnStart=True, flatten=True,
            filter=[{"type": "page"}, {"exclude": True}],
        )
        places = {"behavior": "allow", "downloadPath": os.path.join(os.getcwd(), DOWNLOADS)}
        self.call(
            "Browser.setDownloadBehavior", None, eventsEnabled=True,
            **(places if keep_downloads else {"behavior": "deny"}),
        )
        while not self.tabs:
            if self.pump(self.deadline) is None:
                raise Gone("the browser did not open a page")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.reader)
        os.close(self.writer)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def tab(self):
        """The page that was opened last."""
        if not self.tabs:
            raise Trouble("the page closed itself and no other page is open: open a page")
        return self.tabs[-1]

    @property
    def status(self):
        return self.tab.status

    def allow(self, seconds):
        """Sets the deadline of the browser's responses."""
        self.deadline = time.monotonic() + seconds

    def resize(self, width, height):
        if (width, height) != (self.width, self.height):
            self.width, self.height = width, height
            for tab in self.tabs:
                self.send("Emulation.setDeviceMetricsOverride", tab.session, **self.metrics())

    def metrics(self):
        # A window cannot be as narrow as a phone, but its content can.
        return {"width": self.width, "height": self.height, "deviceScaleFactor": 1, "mobile": False}

    def send(self, method, session, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        content = json.dumps(message).encode() + b"\0"
        try:
            while content:
                content = content[os.write(self.writer, content):]
        except OSError as error:
            raise Gone("the browser crashed; the page may be too large") from error
        return self.number

    def call(self, method, *session, **parameters):
        """Calls a method of the page that was opened last, or of the browser itself if the session is `None`."""
        number = self.send(method, session[0] if session else self.tab.session, **parameters)
        return self.answer(number, self.deadline, "the browser does not respond: the page may keep it busy")

    def answer(self, number, until, trouble):
        while True:
            message = self.pump(until)
            if message is None and time.monotonic() >= min(until, self.deadline):
                raise Trouble(trouble)
            if message is not None and message.get("id") == number:
                if "error" in message:
                    raise Trouble(f"the browser reported an error: {message['error'].get('message')}")
                return message["result"]

    def pump(self, until):
        """Handles and returns the next message, or returns `None` at the deadline."""
        message = self.receive(until)
        if message is not None and "method" in message:
            self.hear(message["method"], message.get("params", {}), message.get("sessionId"))
        return message

    def receive(self, until):
        while b"\0" not in self.buffer:
            left = min(until, self.deadline) - time.monotonic()
            if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                return None
            piece = os.read(self.reader, 1 << 20)
            if not piece:
                raise Gone("the browser crashed; the page may be too large")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def hear(self, method, data, session):
        tab = next((tab for tab in self.tabs if tab.session == session), None)
        if method == "Target.attachedToTarget":
            self.attach(data["sessionId"], data["targetInfo"]["targetId"])
        elif method == "Target.detachedFromTarget":
            self.tabs = [tab for tab in self.tabs if tab.session != data["sessionId"]]
        elif method == "Browser.downloadWillBegin":
            self.downloads[data["guid"]] = {"file": data["suggestedFilename"], "url": data["url"], "state": "inProgress"}
        elif method == "Browser.downloadProgress":
            self.downloads.get(data["guid"], {})["state"] = data["state"]
        elif tab is not None:
            self.hear_tab(tab, method, data)

    def attach(self, session, target):
        """Starts to track a page that was opened."""
        if len(self.tabs) >= MAX_TABS:
            self.notes.append(f"at most {MAX_TABS} pages can be open: an additional page was closed")
            self.send("Target.closeTarget", None, targetId=target)
            return
        if self.tabs:
            self.notes.append("a new page opened and is now the current page")
        self.tabs.append(Tab(session, target))
        self.last_event = time.monotonic()
        self.send("Page.enable", session)
        self.send("Network.enable", session)
        # Every document request is intercepted here, including redirects.
        self.send("Fetch.enable", session, patterns=[{"urlPattern": "*", "resourceType": "Document"}])
        self.send("Emulation.setDeviceMetricsOverride", session, **self.metrics())
        self.send("Runtime.runIfWaitingForDebugger", session)

    def hear_tab(self, tab, method, data):
        is_main = data.get("frameId") == tab.target
        if method == "Fetch.requestPaused":
            url = data["request"]["url"]
            if is_search(url):
                tab.failure = f"the page led to search results ({url}), which cannot be opened"
                self.send("Fetch.failRequest", tab.session, requestId=data["requestId"], errorReason="BlockedByClient")
            else:
                self.send("Fetch.continueRequest", tab.session, requestId=data["requestId"])
        elif method == "Network.requestWillBeSent":
            if is_main and data.get("type") == "Document":
                tab.navigate(data["requestId"])
            if not tab.loaded or time.monotonic() < tab.follows_until:
                tab.requests[data["requestId"]] = self.last_event = time.monotonic()
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            began = tab.requests.pop(data["requestId"], None)
            if began is not None:
                self.last_event = time.monotonic()
                if self.last_event - began > FOLLOW_SECONDS:
                    tab.follows_until = self.last_event + FOLLOW_SECONDS
            error = data.get("errorText")
            # A request that a download or another navigation replaces is aborted. That is not an error.
            if data["requestId"] == tab.document and error and error != "net::ERR_ABORTED":
                tab.failure = tab.failure or f"the page could not be loaded: {error}"
        elif method == "Network.responseReceived" and data["requestId"] == tab.document:
            tab.status = data["response"]["status"]
            tab.refused = data["response"]["headers"].get("proxy-status") == "skillet"
        elif method == "Page.javascriptDialogOpening":
            accept = self.accepts_dialogs or data["type"] in ("alert", "beforeunload")
            self.send("Page.handleJavaScriptDialog", tab.session, accept=accept)
            words = "was accepted" if accept else "was dismissed"
            self.notes.append(f"the page opened a dialog: {data['message'][:300]!r}; it {words}")
        elif method == "Page.loadEventFired" or (method == "Page.frameStoppedLoading" and is_main):
            tab.loaded = True
            # If a navigation moves to another process, Chromium does not always report the end of its request.
            tab.requests.pop(tab.document, None)
            self.last_event = time.monotonic()
            tab.follows_until = self.last_event + FOLLOW_SECONDS

    def open(self, url, seconds=LOAD_SECONDS):
        tab = self.tab
        tab.failure, tab.loaded = None, False
        number = self.send("Page.navigate", tab.session, url=url)
        try:
            found = self.answer(number, time.monotonic() + seconds, f"the page did not respond within {seconds} s")
        except Trouble:
            self.send("Page.stopLoading", tab.session)
            raise
        # A navigation within a page and a download load no document.
        if not found.get("loaderId") or found.get("errorText") == "net::ERR_ABORTED":
            tab.loaded = True
        self.settle(seconds)

    def settle(self, seconds=LOAD_SECONDS):
        """Waits until the page has loaded and its network is quiet."""
        until = min(time.monotonic() + seconds, self.deadline)
        self.last_event = time.monotonic()
        for tab in self.tabs:
            tab.follows_until = self.last_event + FOLLOW_SECONDS
        while time.monotonic() < until and self.tabs:
            tab = self.tab
            if tab.failure:
                break
            self.pump(time.monotonic() + 0.1)
            is_busy = tab.requests or any(it["state"] == "inProgress" for it in self.downloads.values())
            if tab.loaded and not is_busy and time.monotonic() - self.last_event > QUIET_SECONDS:
                break
        else:
            # The requests that are still open do not delay the next steps.
            for tab in self.tabs:
                tab.requests.clear()
        tab = self.tab
        if tab.failure:
            raise Trouble(tab.failure)
        if tab.refused:
            raise Trouble(self.evaluate("() => document.body.innerText.trim()"))

    def evaluate(self, script, argument=None):
        expression = f"({script})({json.dumps(argument)})"
        got = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True,
        )
        if "exceptionDetails" in got:
            details = got["exceptionDetails"]
            words = details.get("exception", {}).get("description") or details.get("text")
            raise Trouble(f"the query in the page failed: {str(words).splitlines()[0]}")
        return got["result"].get("value")
