"""Prints the characters of a document, page or drawing that no installed font can draw."""

import html
import json
import sys
import zipfile

MAX_UNPACKED_BYTES = 200_000_000
# The parts of office files that contain visible text.
PARTS = re.compile(
    r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml|ppt/slides/[^/]+\.xml|ppt/charts/[^/]+\.xml"
    r"|xl/(sharedStrings|worksheets/[^/]+|charts/[^/]+)\.xml|content\.xml"
)


def texts(path):
    """Yields the visible text of a file."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            parts = [one for one in archive.infolist() if PARTS.fullmatch(one.filename)]
            if sum(one.file_size for one in parts) > MAX_UNPACKED_BYTES:
                return
            for one in parts:
                yield without_markup(archive.read(one).decode("utf-8", "ignore"))
        return
    with open(path, encoding="utf-8", errors="ignore") as file:
        text = file.read()
    # A font of the page itself may have glyphs for private characters.
    has_font = "@font-face" in text
    text = without_markup(re.sub(r"<(script|style)\b.*?</\1\s*>", " ", text, flags=re.S | re.I))
    yield "".join(one for one in text if unicodedata.category(one) != "Co") if has_font else text


def without_markup(text):
    return html.unescape(re.sub(r"<!--.*?-->|<[^>]*>", " ", text, flags=re.S))


with open(sys.argv[1], encoding="utf-8") as file:
    found = missing_glyphs(texts(json.load(file)["path"]))
if found:
    print("\n".join(found[:20]))
