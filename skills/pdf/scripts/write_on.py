#!/usr/bin/env python3
"""Writes on a form without fields: text after a label or into a box, and ticks.

TEXTS.json is a list of objects:
  {"page": 1, "after": "Name:", "text": "Zoë"}           to the right of these printed words
  {"page": 1, "box": [60, 700, 300, 716], "text": "…"}   left, bottom, right, top in points from the lower left corner
  {"page": 1, "box": [60, 650, 72, 662], "tick": true}   a cross
"size" sets the size, "align" is left, center or right, "multiline" wraps. Boxes must be on the page, and must not
overlap each other or printed words. --look draws the pages with the boxes in red.
"""

import argparse
from pathlib import Path
from typing import Any

import pdfplumber
from paper import Problem, call, open_pdf, read_json, run
from draw import Drawing, drawn
from pikepdf import Name, Page

Box = tuple[float, float, float, float]
ALIGN = {"left": 0, "center": 1, "right": 2}


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes overlap by more than 1 point."""
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1


def printed(page: Any) -> list[tuple[str, Box]]:
    """Returns the words of a page and their boxes, from the lower left corner."""
    height = float(page.height)
    words = page.extract_words(keep_blank_chars=False)
    return [
        (w["text"], (float(w["x0"]), height - float(w["bottom"]), float(w["x1"]), height - float(w["top"])))
        for w in words
    ]


def rules(page: Any) -> list[Box]:
    """Returns the horizontal lines of a page, from the lower left corner."""
    height = float(page.height)
    shapes = [one for one in [*page.lines, *page.rects] if float(one["bottom"]) - float(one["top"]) < 2]
    edges = [(float(one["x0"]), float(one["x1"]), height - float(one["bottom"])) for one in shapes]
    return [(left, y, right, y) for left, right, y in edges if right - left > 20]


def box_after(words: list[tuple[str, Box]], lines: list[Box], label: str, width: float, nth: int) -> Box:
    """Returns the space to the right of a label: on a line to write on, or up to the next word or the margin."""
    parts = label.split()
    found = []
    for at in range(len(words) - len(parts) + 1):
        if [word for word, _ in words[at : at + len(parts)]] == parts:
            found.append(words[at + len(parts) - 1][1])
    if not found or len(found) < nth or (len(found) > 1 and nth == 0):
        raise Problem(f"the words {label!r} occur {len(found)} times on the page; nth selects one")
    _, bottom, right, top = found[max(nth - 1, 0)]
    row = [box for _, box in words if box[0] > right and min(box[3], top) - max(box[1], bottom) > 2]
    # Dots and lines to write on do not count as words.
    row = [box for box in row if not any(w.strip("._…") == "" and b == box for w, b in words)]
    end = min([box[0] - 4 for box in row], default=width - 30)
    start = right + 4
    line = next(
        (one for one in lines if abs(one[1] - bottom) < 6 and right - 2 < one[0] < right + 60 and one[2] > start), None
    )
    if line is not None:
        start, end = max(start, line[0] + 2), min(end, line[2])
    if end - start < 16:
        raise Problem(f"there is no space to the right of {label!r}; give a box")
    return start, bottom - 2, end, top + 3


def placed(entries: list[Any], plumbed: Any) -> list[tuple[int, Box, dict[str, Any]]]:
    """Returns the page and the box of each text. Fails if a box is not valid."""
    result: list[tuple[int, Box, dict[str, Any]]] = []
    for entry in entries:
        number = int(entry.get("page", 1))
        if not 1 <= number <= len(plumbed.pages):
            raise Problem(f"there is no page {number}")
        page = plumbed.pages[number - 1]
        words = printed(page)
        if "after" in entry:
            box = box_after(words, rules(page), str(entry["after"]), float(page.width), int(entry.get("nth", 0)))
        else:
            edges = [float(one) for one in entry.get("box", [])]
            if len(edges) != 4 or edges[2] - edges[0] < 4 or edges[3] - edges[1] < 4:
                raise Problem(f"{entry}: it needs `after`, or `box` with left, bottom, right and top")
            box = (edges[0], edges[1], edges[2], edges[3])
        named = str(entry.get("text", "the tick"))[:30]
        if box[0] < 0 or box[1] < 0 or box[2] > float(page.width) or box[3] > float(page.height):
            raise Problem(f"the box of {named!r} extends beyond page {number}")
        covered = [word for word, place in words if overlap(box, place) and word.strip("._…")]
        if covered and "after" not in entry:
            raise Problem(f"the box of {named!r} covers printed words: {' '.join(covered[:5])}")
        for other_page, other, _ in result:
            if other_page == number and overlap(box, other):
                raise Problem(f"the box of {named!r} overlaps another box")
        result.append((number, box, entry))
    return result


def put(page: Page, look: Any, box: Box) -> None:
    """Draws a form XObject on a page."""
    name = page.add_resource(look, Name.XObject)
    page.contents_add(f"q 1 0 0 1 {box[0]:.2f} {box[1]:.2f} cm {name} Do Q".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", type=Path)
    parser.add_argument("texts", help="a JSON file, or - for standard input")
    parser.add_argument("out", type=Path)
    parser.add_argument("--look", type=Path, help="a folder for pictures of the pages with the boxes")
    given = parser.parse_args()
    entries = read_json(given.texts)
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        raise Problem("the texts must be a list of objects")
    pdf = open_pdf(given.form)
    if any(int(page.obj.get("/Rotate", 0)) % 360 for page in pdf.pages):
        raise Problem(f"{given.form}: it has rotated pages; first run qpdf --flatten-rotation IN OUT")
    with pdfplumber.open(given.form) as plumbed:
        places = placed(entries, plumbed)
    drawings = []
    for _, box, entry in places:
        text = "✗" if entry.get("tick") else str(entry.get("text", ""))
        # The cross fills its box.
        size = float(entry.get("size", 0)) or (box[3] - box[1] if entry.get("tick") else 10.5)
        align = 1 if entry.get("tick") else ALIGN.get(str(entry.get("align", "left")), 0)
        drawings.append(Drawing(text, box[2] - box[0], box[3] - box[1], size, align, bool(entry.get("multiline"))))
    for number in {number for number, _, _ in places}:
        page = pdf.pages[number - 1]
        page.contents_add(b"q\n", prepend=True)
        page.contents_add(b"\nQ\n")
    for (number, box, _), look in zip(places, drawn(pdf, drawings), strict=True):
        put(pdf.pages[number - 1], look, box)
    pdf.save(given.out)
    if given.look:
        show(given.out, given.look, places)
    print(f"{given.out}: {len(places)} texts written")


def show(path: Path, folder: Path, places: list[tuple[int, Box, dict[str, Any]]]) -> None:
    """Draws the pages with the boxes."""
    from PIL import Image, ImageDraw

    folder.mkdir(parents=True, exist_ok=True)
    for number in sorted({number for number, _, _ in places}):
        stem = folder / f"page-{number}"
        call("pdftoppm", "-r", "72", "-f", str(number), "-l", str(number), "-singlefile", "-png", str(path), str(stem))
        picture = Image.open(stem.with_suffix(".png")).convert("RGB")
        pen = ImageDraw.Draw(picture)
        for on, box, _ in places:
            if on == number:
                pen.rectangle((box[0], picture.height - box[3], box[2], picture.height - box[1]), outline="#d0021b")
        picture.save(stem.with_suffix(".png"))


if __name__ == "__main__":
    run(main)
