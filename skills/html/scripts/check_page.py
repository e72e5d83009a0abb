#!/usr/bin/env python3
"""Checks a page in a real browser at 390 and 1200 pixels, in light and dark, and draws it.

Errors (exit 1): external resources, script errors, a page that is too wide, low contrast, text that is
too small or cut, drawings and pictures without a description, fields without labels, open elements, characters
without a glyph. Pictures: phone.png, wide.png, dark.png, and print.pdf in --out.
"""

import argparse
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from chrome import Browser, Problem, run
from glyphs import missing_glyphs

MAX_BYTES = 20_000_000
VOID = set("area base br col embed hr img input link meta source track wbr".split())
# Elements that may be left open.
OPTIONAL = set("li p dt dd tr td th thead tbody tfoot option html head body colgroup".split())
LOADED = ("file:", "data:", "blob:", "about:", "chrome-error:")


class Stack(HTMLParser):
    """A parser that tracks the open elements."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, int]] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append((tag, self.getpos()[0]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if all(name != tag for name, _ in self.open):
            self.wrong.append(f"line {self.getpos()[0]}: </{tag}> closes nothing")
            return
        while self.open and self.open[-1][0] != tag and self.open[-1][0] in OPTIONAL:
            self.open.pop()
        if self.open and self.open[-1][0] == tag:
            self.open.pop()
        else:
            inside, line = self.open[-1]
            self.wrong.append(f"line {self.getpos()[0]}: </{tag}> closes <{inside}> of line {line}")


def source_findings(text: str) -> Iterator[tuple[str, str]]:
    """Checks the source of the page."""
    if not text.lower().startswith("<!doctype html>"):
        yield "error", "it does not begin with <!doctype html>"
    if not re.search(r"<meta\s+charset=\"?utf-8", text[:1024], re.IGNORECASE):
        yield "error", 'the first 1,024 characters have no <meta charset="utf-8">'
    if len(text) > 2_000_000:
        yield "warning", f"it has {len(text) / 1e6:.1f} MB: scale its pictures down"
    stack = Stack()
    stack.feed(text)
    for one in stack.wrong[:5]:
        yield "error", one
    for tag, line in stack.open[:5]:
        if tag not in OPTIONAL:
            yield "error", f"<{tag}> of line {line} is not closed"


def event_findings(browser: Browser, page: Path) -> Iterator[tuple[str, str]]:
    """Checks the loaded resources and the errors of scripts."""
    own = page.absolute().as_uri()
    for event in browser.events:
        found = event.get("params", {})
        if event["method"] == "Network.requestWillBeSent":
            url = str(found["request"]["url"])
            if not url.startswith(LOADED) or (url.startswith("file:") and url.split("#", maxsplit=1)[0] != own):
                yield "error", f"it loads {url[:120]}"
        elif event["method"] == "Runtime.exceptionThrown":
            thrown = found["exceptionDetails"]
            text = thrown.get("exception", {}).get("description") or thrown.get("text")
            yield "error", f"a script fails: {str(text).splitlines()[0][:150]}"
        elif event["method"] == "Runtime.consoleAPICalled" and found.get("type") == "error":
            text = " ".join(str(one.get("value", one.get("description", ""))) for one in found.get("args", []))
            yield "error", f"a script reports: {text[:150]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--out", type=Path, default=Path("shots"), help="a folder for the pictures (shots)")
    given = parser.parse_args()
    if not given.page.is_file():
        raise Problem(f"{given.page}: there is no such file")
    if given.page.stat().st_size > MAX_BYTES:
        raise Problem(f"{given.page}: it is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        text = given.page.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Problem(f"{given.page}: it is not UTF-8") from None
    found = list(source_findings(text))
    given.out.mkdir(parents=True, exist_ok=True)
    script = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")
    with Browser() as browser:
        for name, width, is_dark in (("phone", 390, False), ("wide", 1200, False), ("dark", 1200, True)):
            browser.open(given.page, width, is_dark)
            found += event_findings(browser, given.page)
            found += [(kind, f"{one} ({name})") for kind, one in browser.evaluate(script)]
            browser.picture(given.out / f"{name}.png", width)
            if name == "wide":
                found += [
                    ("error", f"no installed font has {one}")
                    for one in missing_glyphs([browser.evaluate("document.body.innerText")])
                ]
                browser.print(given.out / "print.pdf")
    found = list(dict.fromkeys(found))
    for kind, one in found[:80]:
        print(f"{kind}: {one}")
    errors = sum(kind == "error" for kind, _ in found)
    pictures = f"{given.out}/phone.png, wide.png, dark.png and print.pdf"
    print(f"{given.page}: {errors} errors, {len(found) - errors} warnings; look at {pictures}")
    return 1 if errors else 0


if __name__ == "__main__":
    run(main)
