#!/usr/bin/env python3
"""Removes words or areas permanently: pages that contain them become pictures with black boxes.

The remaining words can still be searched and copied. Form values become part of the pages. Attachments, metadata,
bookmarks, comments and scripts are removed from the whole file. At the end, the script reads the result and fails if a
word is still there.
"""

import argparse
import io
import re
import tempfile
from pathlib import Path
from typing import Any

import pdfplumber
import pikepdf
from paper import Problem, call, fonts_for, open_pdf, run
from draw import register
from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfgen.canvas import Canvas

Box = tuple[float, float, float, float]


def areas(page: Any, pattern: re.Pattern[str] | None) -> list[Box]:
    """Returns the boxes of a pattern on a page: left, top, right, bottom. A match over several lines has several."""
    found: list[Box] = []
    if pattern is None:
        return found
    for match in page.search(pattern, return_groups=False, strip=False):
        lines: dict[int, list[Any]] = {}
        for char in match["chars"]:
            lines.setdefault(round(char["top"] / 3), []).append(char)
        for chars in lines.values():
            edges = [[float(char[key]) for char in chars] for key in ("x0", "top", "x1", "bottom")]
            found.append((min(edges[0]) - 1, min(edges[1]) - 1, max(edges[2]) + 1, max(edges[3]) + 1))
    return found


def picture_page(source: Path, page: Any, number: int, boxes: list[Box], dpi: int) -> bytes:
    """Returns a page as a picture with black boxes, and the remaining words as invisible text."""
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder) / "page"
        which = str(number)
        call("pdftoppm", "-r", str(dpi), "-f", which, "-l", which, "-singlefile", "-png", str(source), str(stem))
        picture = Image.open(stem.with_suffix(".png")).convert("RGB")
    pen, scale = ImageDraw.Draw(picture), dpi / 72
    for box in boxes:
        pen.rectangle([edge * scale for edge in box], fill="black")
    width, height = float(page.width), float(page.height)
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(width, height), invariant=1)
    canvas.drawImage(ImageReader(picture), 0, 0, width, height)
    for word in page.extract_words():
        place = (float(word["x0"]), float(word["top"]), float(word["x1"]), float(word["bottom"]))
        if any(place[0] < b[2] and place[2] > b[0] and place[1] < b[3] and place[3] > b[1] for b in boxes):
            continue
        try:
            font = register(fonts_for(word["text"])[0][0])
        except Problem:
            continue
        size = max(place[3] - place[1], 1) * 0.9
        text = canvas.beginText(place[0], height - place[3] + size * 0.2)
        text.setTextRenderMode(3)
        text.setFont(font, size)
        broad = pdfmetrics.stringWidth(word["text"], font, size)
        text.setHorizScale(100 * (place[2] - place[0]) / broad if broad else 100)
        text.textOut(word["text"] + " ")
        canvas.drawText(text)
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def given_boxes(texts: list[str], count: int) -> dict[int, list[Box]]:
    """Parses areas in the form `PAGE,LEFT,BOTTOM,RIGHT,TOP`."""
    found: dict[int, list[Box]] = {}
    for text in texts:
        parts = text.split(",")
        try:
            number, edges = int(parts[0]), [float(one) for one in parts[1:]]
            left, bottom, right, top = edges
        except ValueError:
            raise Problem(f"{text!r} is not PAGE,LEFT,BOTTOM,RIGHT,TOP") from None
        if not 1 <= number <= count:
            raise Problem(f"there is no page {number}")
        found.setdefault(number, []).append((left, bottom, right, top))
    return found


def redact(
    source: Path, out: Path, pattern: re.Pattern[str] | None, boxes: dict[int, list[Box]], dpi: int
) -> tuple[int, int]:
    """Writes the redacted file. Returns the number of redacted places and of changed pages."""
    places, pages = 0, 0
    with pdfplumber.open(source) as plumbed, pikepdf.open(source) as pdf, pikepdf.new() as made:
        for number, page in enumerate(plumbed.pages, 1):
            height = float(page.height)
            here = areas(page, pattern)
            here += [(left, height - top, right, height - bottom) for left, bottom, right, top in boxes.get(number, [])]
            if here:
                with pikepdf.open(io.BytesIO(picture_page(source, page, number, here, dpi))) as one:
                    made.pages.extend(one.pages)
                places, pages = places + len(here), pages + 1
            else:
                made.pages.append(pdf.pages[number - 1])
                for key in ("/Annots", "/AA", "/Metadata", "/PieceInfo", "/Thumb"):
                    if key in made.pages[-1].obj:
                        del made.pages[-1].obj[key]
        made.save(out, linearize=False, compress_streams=True)
    return places, pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--text", action="append", default=[], help="words to remove, in any case")
    parser.add_argument("--pattern", action="append", default=[], help="a regular expression: '\\d{2}-\\d{4}'")
    parser.add_argument("--box", action="append", default=[], help="PAGE,LEFT,BOTTOM,RIGHT,TOP in points")
    parser.add_argument("--dpi", type=int, default=200)
    given = parser.parse_args()
    count = len(open_pdf(given.pdf).pages)
    words = [r"\s+".join(map(re.escape, one.split())) for one in given.text if one.strip()]
    parts = [*(f"(?i:{one})" for one in words), *(f"(?:{one})" for one in given.pattern)]
    try:
        pattern = re.compile("|".join(parts)) if parts else None
    except re.error as error:
        raise Problem(f"--pattern is not a regular expression: {error}") from None
    if pattern is None and not given.box:
        raise Problem("--text, --pattern or --box is required")
    if pattern is not None and pattern.match(""):
        raise Problem("--pattern matches empty text")
    with tempfile.TemporaryDirectory() as folder:
        flat = Path(folder) / "flat.pdf"
        call(
            "qpdf",
            "--generate-appearances",
            "--flatten-annotations=all",
            "--flatten-rotation",
            str(given.pdf),
            str(flat),
        )
        scans = [n for n, one in enumerate(call("pdftotext", str(flat), "-").split("\f")[:count], 1) if not one.strip()]
        places, pages = redact(flat, given.out, pattern, given_boxes(given.box, count), given.dpi)
    if pattern is not None:
        left = pattern.search(call("pdftotext", str(given.out), "-"))
        with pdfplumber.open(given.out) as plumbed:
            left = left or next(
                (one for page in plumbed.pages if (one := pattern.search(page.extract_text() or ""))), None
            )
        if left:
            given.out.unlink()
            raise Problem(f"{given.out}: {left.group()!r} can still be read; no file was written")
    if places == 0:
        given.out.unlink()
        raise Problem("no match was found; no file was written")
    for number in scans:
        print(f"warning: page {number} has no text and was not searched: run ocr.py first")
    print(f"{given.out}: {places} places removed on {pages} of {count} pages, which are now pictures")


if __name__ == "__main__":
    run(main)
