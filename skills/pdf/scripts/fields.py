#!/usr/bin/env python3
"""Lists the fields of a form as JSON: name, kind, value, states or options, page, place, and the words next to it.

Places are left, bottom, right, top in points from the lower left corner of the page. To fill a form without fields,
use write_on.py.
"""

import argparse
import json
from pathlib import Path

import pdfplumber
from paper import Problem, open_pdf, run
from forms import Field, fields


def label(words: list[dict[str, float | str]], height: float, box: tuple[float, float, float, float]) -> str:
    """Returns the words to the left of a field, or above it."""
    left, bottom, right, top = box
    middle = height - (bottom + top) / 2
    row = [one for one in words if float(one["top"]) - 2 <= middle <= float(one["bottom"]) + 2]
    beside = [one for one in row if float(one["x1"]) <= left + 2 and left - float(one["x1"]) < 220]
    if beside:
        return " ".join(str(one["text"]) for one in beside[-8:])
    after = [one for one in row if float(one["x0"]) >= right - 2 and float(one["x0"]) - right < 60]
    if right - left < 30 and after:
        return " ".join(str(one["text"]) for one in after[:8])
    above = [one for one in words if 0 <= height - top - float(one["bottom"]) + 2 < 16]
    near = [one for one in above if float(one["x0"]) < right and float(one["x1"]) > left]
    return " ".join(str(one["text"]) for one in near[:8])


def described(one: Field, pages: dict[int, tuple[float, list[dict[str, float | str]]]]) -> dict[str, object]:
    """Returns a field as JSON."""
    result: dict[str, object] = {"name": one.name, "kind": one.kind, "value": one.value}
    if one.kind in ("box", "radio"):
        result["states"] = ["Off", *one.states]
    if one.options:
        result["options"] = [shown for _, shown in one.options]
    for flag, name in ((1, "read_only"), (2, "required")):
        if one.flags & flag:
            result[name] = True
    if one.is_multiline:
        result["multiline"] = True
    if one.max_length:
        result["max_length"] = one.max_length
    places = []
    for widget in one.widgets:
        place: dict[str, object] = {"page": widget.page, "box": [round(edge, 1) for edge in widget.box]}
        if one.kind == "radio":
            place["state"] = widget.on
        if widget.page in pages:
            height, words = pages[widget.page]
            place["label"] = label(words, height, widget.box)
        places.append(place)
    result["places"] = places
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", type=Path)
    given = parser.parse_args()
    found = fields(open_pdf(given.form))
    if not found:
        raise Problem(f"{given.form}: it has no fields; write on it with write_on.py")
    pages = {}
    with pdfplumber.open(given.form) as plumbed:
        for number in {widget.page for one in found for widget in one.widgets if widget.page}:
            page = plumbed.pages[number - 1]
            pages[number] = (float(page.height), page.extract_words())
    print(json.dumps([described(one, pages) for one in found], ensure_ascii=False, indent=1))


if __name__ == "__main__":
    run(main)
