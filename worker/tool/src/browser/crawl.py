"""A crawl of linked pages of a site, breadth first, with the results in a file."""

import re

CRAWL_FILE = "crawl/pages.jsonl"
# The maximum load time of a page in a crawl. After it, the crawl reads the page in its current state.
CRAWL_LOAD_SECONDS = 10
MAX_PAGE_TEXT = 200_000
MAX_PAGE_LINKS = 500
# The time that is reserved for the result.
CRAWL_RESERVE_SECONDS = 5
# Links to these files are listed but not opened. Pages are read without the pictures below.
FILES = (
    "pdf zip gz tar tgz 7z rar exe dmg iso doc docx xls xlsx ppt pptx odt ods odp epub csv json xml rss png jpg jpeg"
    " gif svg webp ico mp3 mp4 webm mov avi wav ogg css js woff woff2 ttf"
).split()
PICTURES = ["*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.mp4", "*.webm", "*.mp3", "*.woff", "*.woff2", "*.ttf"]


def plain_url(url):
    return url.split("#", 1)[0]


def is_page(url):
    path = urlsplit(url).path
    name = path.rsplit("/", 1)[-1]
    return "." not in name or name.rsplit(".", 1)[-1].lower() not in FILES


def links_to_follow(links, start, pattern):
    """Yields the links to pages on the same host that match the pattern, if there is one."""
    host = urlsplit(start).netloc
    for link in links:
        url = plain_url(link["url"])
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.netloc == host and is_page(url) and not is_search(url):
            if pattern is None or pattern.search(url):
                yield url


def crawled(browser, url):
    """Returns the content of a page, or the reason why it cannot be read."""
    try:
        browser.open(url, CRAWL_LOAD_SECONDS)
        found = browser.evaluate(PAGE)
        links = browser.evaluate(LINKS, {"limit": MAX_PAGE_LINKS})
    except Gone:
        raise
    except Trouble as trouble:
        browser.tab.failure = None
        return {"url": url, "status": browser.status, "error": str(trouble), "title": "", "text": "", "links": []}
    return {
        "url": found["url"], "status": browser.status, "title": found["title"],
        "text": found["text"][:MAX_PAGE_TEXT], "links": links,
    }


def crawl(browser, asked):
    try:
        pattern = re.compile(asked["pattern"]) if asked.get("pattern") else None
    except re.error as error:
        raise Trouble(f"pattern: it is not a regular expression: {error}") from error
    start = address(asked["url"])
    if not start.startswith("http"):
        raise Trouble("url: a crawl must begin at an http or https URL")
    most, depth = asked.get("pages") or 20, 2 if asked.get("depth") is None else asked["depth"]
    waiting, known, pages = [(plain_url(start), 0)], {plain_url(start)}, []
    os.makedirs(os.path.dirname(CRAWL_FILE), exist_ok=True)
    browser.call("Network.setBlockedURLs", urls=PICTURES)
    try:
        with open(CRAWL_FILE, "w", encoding="utf-8") as file:
            while waiting and len(pages) < most:
                if browser.deadline - time.monotonic() < CRAWL_RESERVE_SECONDS:
                    break
                url, steps = waiting.pop(0)
                page = {**crawled(browser, url), "depth": steps}
                # The target of a redirect is not opened again.
                known.add(plain_url(page["url"]))
                pages.append(page)
                file.write(json.dumps(page, ensure_ascii=False) + "\n")
                if steps < depth:
                    for link in links_to_follow(page["links"], start, pattern):
                        if link not in known:
                            known.add(link)
                            waiting.append((link, steps + 1))
    finally:
        browser.call("Network.setBlockedURLs", urls=[])
    short = [
        {"url": page["url"], "status": page["status"], "title": page["title"][:100], "characters": len(page["text"]),
         **({"error": page["error"]} if "error" in page else {})}
        for page in pages
    ]
    result = {"file": CRAWL_FILE, "pages": len(pages), "not_opened": len(waiting), "found": short}
    if waiting and len(pages) < most:
        result["note"] = "the time limit was reached before all pages were read"
    return {**result, **told(browser)}
