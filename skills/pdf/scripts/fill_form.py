#!/usr/bin/env python3
"""Fills a form so that every viewer and printer shows the same, and checks each value on the page.

VALUES.json is an object from the names of fields.py to values: text, the option of a choice, a state of a box or
radio button (or true and false for a box). --flatten makes the values part of the page and removes the fields.
"""

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any

import pikepdf
from paper import Problem, call, open_pdf, read_json, run
from draw import Drawing, drawn
from forms import Field, Widget, fields, inherited
from pikepdf import Dictionary, Name, Pdf, Stream, String


def wanted_value(one: Field, value: object) -> str:
    """Returns the value to store. Fails if the field does not accept it."""
    if one.kind in ("signature", "button", "unknown"):
        raise Problem(f"{one.name}: a field of kind {one.kind} cannot be filled")
    if one.flags & 1:
        raise Problem(f"{one.name}: it is read-only")
    if one.kind in ("box", "radio"):
        text = (one.states[0] if value else "Off") if isinstance(value, bool) and one.states else str(value)
        if text not in ["Off", *one.states]:
            raise Problem(f"{one.name}: {value!r} is not one of Off, {', '.join(one.states)}")
        return text
    text = str(value).replace("\r\n", "\n")
    if one.kind == "choice" and one.options and not one.flags & 1 << 18:
        found = next((stored for stored, shown in one.options if text in (stored, shown)), None)
        if found is None:
            raise Problem(f"{one.name}: {text!r} is not one of {', '.join(shown for _, shown in one.options)}")
        return found
    if one.max_length and len(text) > one.max_length:
        raise Problem(f"{one.name}: {text!r} is longer than {one.max_length} characters")
    if "\n" in text and not one.is_multiline:
        raise Problem(f"{one.name}: it takes one line")
    return text


def shown_text(one: Field, stored: str) -> str:
    """Returns the text that a viewer shows for a stored value."""
    return next((shown for value, shown in one.options if value == stored), stored)


def font_size(one: Field, form: Any) -> float:
    """Returns the font size of a field. 0 is automatic."""
    looks = inherited(one.element, "/DA")
    looks = form.get("/DA", "") if looks is None else looks
    found = re.search(r"(-?[\d.]+)\s+Tf", str(looks))
    return abs(float(found.group(1))) if found else 0.0


def drawing(one: Field, widget: Widget, text: str, form: Any) -> Drawing:
    """Returns a text with the format of a field."""
    left, bottom, right, top = widget.box
    width, height = right - left, top - bottom
    turn = int(widget.element.get("/MK", Dictionary()).get("/R", 0)) % 360
    if turn in (90, 270):
        width, height = height, width
    align = int(inherited(one.element, "/Q") or 0)
    cells = one.max_length if one.is_comb else 0
    return Drawing(text, width, height, font_size(one, form), align, one.is_multiline, cells)


def paint_color(color: Any, operators: tuple[str, str, str]) -> str:
    """Returns the operator that sets a colour of a field."""
    parts = [float(one) for one in color]
    names = dict(zip((1, 3, 4), operators, strict=True))
    return " ".join(f"{one:g}" for one in parts) + f" {names[len(parts)]}" if len(parts) in names else ""


def ground(widget: Widget, width: float, height: float) -> bytes:
    """Returns the background and border of a field."""
    looks = widget.element.get("/MK", Dictionary())
    style = widget.element.get("/BS", Dictionary())
    line = float(style.get("/W", 1))
    parts = []
    if fill := paint_color(looks.get("/BG", []), ("g", "rg", "k")):
        parts.append(f"q {fill} 0 0 {width:.2f} {height:.2f} re f Q")
    if (stroke := paint_color(looks.get("/BC", []), ("G", "RG", "K"))) and line > 0:
        inner = f"{line / 2:g} {line / 2:g} {width - line:.2f} {height - line:.2f}"
        parts.append(f"q {stroke} {line:g} w {inner} re S Q")
    return "\n".join(parts).encode() + b"\n"


def turn_look(look: Any, widget: Widget, box: tuple[float, float]) -> None:
    """Rotates an appearance as the field requires."""
    width, height = box
    turn = int(widget.element.get("/MK", Dictionary()).get("/R", 0)) % 360
    matrix = {90: [0, 1, -1, 0, height, 0], 180: [-1, 0, 0, -1, width, height], 270: [0, -1, 1, 0, 0, width]}
    if turn in matrix:
        look["/Matrix"] = pikepdf.Array(matrix[turn])


def tick(pdf: Pdf, widget: Widget, state: str) -> None:
    """Sets a box. A box without appearances gets a drawn tick."""
    element = widget.element
    left, bottom, right, top = widget.box
    if "/AP" not in element or not isinstance(element["/AP"].get("/N"), Dictionary):
        width, height = right - left, top - bottom
        points = [(0.2, 0.5), (0.42, 0.25), (0.8, 0.78)]
        path = " ".join(f"{x * width:.2f} {y * height:.2f} {'l' if at else 'm'}" for at, (x, y) in enumerate(points))
        mark = f"q {min(width, height) * 0.12:.2f} w 1 J {path} S Q".encode()
        looks = Dictionary()
        for name, content in ((widget.on or "Yes", mark), ("Off", b"")):
            look = Stream(pdf, content)
            look["/Type"], look["/Subtype"] = Name.XObject, Name.Form
            look["/BBox"] = pikepdf.Array([0, 0, width, height])
            looks[f"/{name}"] = pdf.make_indirect(look)
        element["/AP"] = Dictionary(N=looks)
    element["/AS"] = Name(f"/{state}" if state == widget.on else "/Off")


def fill(pdf: Pdf, values: dict[str, Any]) -> list[tuple[Field, str]]:
    """Stores and draws values."""
    known = {one.name: one for one in fields(pdf)}
    if not known:
        raise Problem("the form has no fields; write on it with write_on.py")
    if unknown := sorted(set(values) - set(known)):
        raise Problem(f"there is no field {', '.join(unknown[:5])}; fields.py lists them")
    form = pdf.Root["/AcroForm"]
    if "/XFA" in form:
        del form["/XFA"]
    stored = [(known[name], wanted_value(known[name], value)) for name, value in values.items()]
    texts: list[tuple[Widget, Drawing]] = []
    for one, value in stored:
        if one.kind in ("box", "radio"):
            one.element["/V"] = Name(f"/{value}")
            for widget in one.widgets:
                tick(pdf, widget, value)
            continue
        one.element["/V"] = String(value)
        for gone in ("/I", "/RV"):
            if gone in one.element:
                del one.element[gone]
        texts += [(widget, drawing(one, widget, shown_text(one, value), form)) for widget in one.widgets]
    for (widget, made), look in zip(texts, drawn(pdf, [made for _, made in texts]), strict=True):
        look.write(ground(widget, made.width, made.height) + look.read_bytes())
        turn_look(look, widget, (widget.box[2] - widget.box[0], widget.box[3] - widget.box[1]))
        widget.element["/AP"] = Dictionary(N=look)
    form["/NeedAppearances"] = False
    return stored


def words_in(path: Path, page: int, box: tuple[float, float, float, float]) -> str:
    """Returns the text that poppler reads in a box of a page."""
    import pdfplumber

    with pdfplumber.open(path) as plumbed:
        height = float(plumbed.pages[page - 1].height)
    left, bottom, right, top = box
    area = [str(max(round(one), 0)) for one in (left - 1, height - top - 1, right - left + 3, top - bottom + 3)]
    command = ["pdftotext", "-f", str(page), "-l", str(page), "-r", "72", "-x", area[0], "-y", area[1]]
    return call(*command, "-W", area[2], "-H", area[3], str(path), "-")


def check(path: Path, stored: list[tuple[Field, str]]) -> None:
    """Fails if a value is not on its page."""
    with tempfile.TemporaryDirectory() as folder:
        flat = Path(folder) / "flat.pdf"
        with pikepdf.open(path) as pdf:
            turned = {number for number, page in enumerate(pdf.pages, 1) if int(page.obj.get("/Rotate", 0)) % 360}
            pdf.flatten_annotations("all")
            pdf.save(flat)
        for one, value in stored:
            wanted = "".join(shown_text(one, value).split())
            for widget in one.widgets if one.kind in ("text", "choice") else []:
                found = "".join(words_in(flat, widget.page, widget.box).split())
                is_shown = wanted in found or sorted(wanted) == sorted(found)
                if widget.page and widget.page not in turned and not is_shown:
                    raise Problem(f"{path}: the value of {one.name} is not on page {widget.page}: found {found[:60]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", type=Path)
    parser.add_argument("values", help="a JSON file, or - for standard input")
    parser.add_argument("out", type=Path)
    parser.add_argument("--flatten", action="store_true")
    given = parser.parse_args()
    values = read_json(given.values)
    if not isinstance(values, dict) or not values:
        raise Problem("the values must be an object from field names to values")
    pdf = open_pdf(given.form)
    stored = fill(pdf, values)
    total = len(fields(pdf))
    # Signatures and usage rights are no longer valid.
    if "/Perms" in pdf.Root:
        del pdf.Root["/Perms"]
    with tempfile.TemporaryDirectory() as folder:
        filled = Path(folder) / "filled.pdf"
        pdf.save(filled)
        check(filled, stored)
    if given.flatten:
        pdf.flatten_annotations("all")
        if "/AcroForm" in pdf.Root:
            del pdf.Root["/AcroForm"]
    pdf.save(given.out)
    what = "flattened, without fields" if given.flatten else f"{total - len(stored)} other fields unchanged"
    print(f"{given.out}: {len(stored)} fields filled and found on their pages; {what}")


if __name__ == "__main__":
    run(main)
