"""The loop of a job's browser: one request per line of standard input, one reply per line of standard output."""

# The URL of the last page, so that another worker can continue the job. The cookies stay on this machine.
STATE = ".skillet/browser.json"
COOKIES = os.path.join(tempfile.gettempdir(), ".skillet-cookies.json")
REMEMBER_SECONDS = 5
WORK = {"browser": page, "take_screenshot": screenshot, "dom_search": search, "dom_extract": extract}


def saved(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def save(path, content, mode):
    """Replaces a file instead of writing to it, so that no symbolic link is followed."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        json.dump(content, file)


class Session:
    """The browser of a job across its calls."""

    def __init__(self):
        self.browser = None
        self.url = saved(STATE).get("url")

    def start(self):
        if self.browser is None:
            self.browser = Browser(keep_downloads=True)
            cookies = saved(COOKIES).get("cookies")
            if cookies:
                self.browser.call("Storage.setCookies", None, cookies=cookies)
        return self.browser

    def answer(self, tool, asked):
        browser = self.start()
        if not browser.tabs:
            browser.call("Target.createTarget", None, url="about:blank")
        browser.tab.failure = None
        browser.resize(asked.get("width") or 1280, asked.get("height") or 900)
        if tool == "crawl":
            result = crawl(browser, asked)
        else:
            if tool != "browse":
                self.show(browser, asked.get("url"))
            elif asked["steps"][0]["action"] != "open":
                self.show(browser, None)
            result = browse(browser, asked) if tool == "browse" else {**WORK[tool](browser, asked), **told(browser)}
        return result

    def show(self, browser, url):
        """Opens the page at `url`. Without a URL, the open page does not change."""
        if url is not None:
            url = address(url)
            try:
                browser.open(url)
            except Trouble:
                # A page that failed to open must not be shown.
                browser.allow(REMEMBER_SECONDS)
                browser.send("Page.navigate", browser.tab.session, url="about:blank")
                raise
        elif not browser.evaluate("() => location.href").startswith(("http", "file")):
            if self.url is None:
                raise Trouble("no page is open: give a `url`")
            browser.open(self.url)
            browser.notes.append("the browser was restarted and the last page was opened again: typed text is lost")

    def remember(self):
        """Saves the URL and the cookies for another browser of the job."""
        browser = self.browser
        if browser is None or not browser.tabs:
            return
        browser.allow(REMEMBER_SECONDS)
        url = browser.evaluate("() => location.href")
        if url.startswith(("http", "file")) and not browser.tab.failure and not browser.tab.refused:
            self.url = url
            save(STATE, {"url": url}, 0o644)
        cookies = browser.call("Storage.getCookies", None)["cookies"]
        save(COOKIES, {"cookies": cookies}, 0o600)

    def end(self):
        if self.browser is not None:
            self.browser.close()
            self.browser = None

    def reply(self, request):
        try:
            self.start().allow(request["seconds"])
            result = self.answer(request["tool"], request["arguments"])
            reply = {"result": result}
        except Trouble as trouble:
            reply = {"error": str(trouble)}
        try:
            self.remember()
        except Trouble:
            # The page does not respond. The next call starts a new browser.
            self.end()
        return reply


def requests(session):
    """Yields the lines of standard input. Handles the events of pages in the meantime, so that they are not delayed."""
    buffer = b""
    while True:
        while b"\n" not in buffer:
            browser = session.browser
            watched = [0] if browser is None else [0, browser.reader]
            ready = select.select(watched, [], [])[0]
            if 0 in ready:
                piece = os.read(0, 1 << 16)
                if not piece:
                    return
                buffer += piece
            elif browser is not None:
                try:
                    browser.allow(1)
                    while browser.pump(time.monotonic() + 0.05):
                        pass
                except Gone:
                    session.end()
        line, buffer = buffer.split(b"\n", 1)
        yield json.loads(line)


def main():
    session = Session()
    try:
        for request in requests(session):
            print(json.dumps(session.reply(request), ensure_ascii=True), flush=True)
    finally:
        session.end()


main()
