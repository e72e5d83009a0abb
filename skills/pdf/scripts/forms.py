"""The fields of a form: names, kinds, places, states and options."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pikepdf
from pikepdf import Dictionary, Name, Pdf

MAX_DEPTH = 30


@dataclass
class Widget:
    """A place of a field on a page."""

    page: int
    box: tuple[float, float, float, float]
    element: Any
    # For boxes, the name of the state in which this place is ticked.
    on: str = ""


@dataclass
class Field:
    """A field with all its places."""

    name: str
    kind: str
    element: Any
    value: str = ""
    options: list[tuple[str, str]] = field(default_factory=list)
    flags: int = 0
    max_length: int = 0
    widgets: list[Widget] = field(default_factory=list)

    @property
    def is_multiline(self) -> bool:
        """Whether the field has several lines of text."""
        return self.kind == "text" and bool(self.flags & 1 << 12)

    @property
    def is_comb(self) -> bool:
        """Whether the field has equal cells for its characters."""
        return self.kind == "text" and bool(self.flags & 1 << 24) and self.max_length > 0

    @property
    def states(self) -> list[str]:
        """The states of a box or a group of radio buttons."""
        return list(dict.fromkeys(one.on for one in self.widgets if one.on))


def inherited(element: Any, key: str) -> Any:
    """Returns a value of a field or of one of its ancestors."""
    for _ in range(MAX_DEPTH):
        if key in element:
            return element[key]
        if "/Parent" not in element:
            return None
        element = element["/Parent"]
    return None


def text_of(value: Any) -> str:
    """Returns a value as text."""
    if value is None:
        return ""
    if isinstance(value, pikepdf.Array):
        return ", ".join(text_of(one) for one in value)
    return str(value).removeprefix("/") if isinstance(value, Name) else str(value)


def _leaves(element: Any, prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yields fields with their full names. A field whose children have no names is one field."""
    part = str(element.get("/T", "")) if "/T" in element else ""
    name = f"{prefix}.{part}" if prefix and part else prefix or part
    children = list(element.get("/Kids", [])) if depth < MAX_DEPTH else []
    named = [one for one in children if "/T" in one]
    if named:
        for child in named:
            yield from _leaves(child, name, depth + 1)
    else:
        yield name, element


def kind_of(element: Any) -> str:
    """Returns text, box, radio, button, choice, signature or unknown."""
    flags = int(inherited(element, "/Ff") or 0)
    kind = text_of(inherited(element, "/FT"))
    if kind == "Btn":
        return "button" if flags & 1 << 16 else "radio" if flags & 1 << 15 else "box"
    return {"Tx": "text", "Ch": "choice", "Sig": "signature"}.get(kind, "unknown")


def fields(pdf: Pdf) -> list[Field]:
    """Returns all fields of a form, in the order of the form."""
    form = pdf.Root.get("/AcroForm")
    if form is None or len(form.get("/Fields", [])) == 0:
        return []
    pages: dict[tuple[int, int], int] = {}
    for number, page in enumerate(pdf.pages, 1):
        for note in page.obj.get("/Annots", []):
            pages[note.objgen] = number
    found = []
    for top in form["/Fields"]:
        for name, element in _leaves(top, "", 0):
            one = Field(name, kind_of(element), element, text_of(inherited(element, "/V")))
            one.flags = int(inherited(element, "/Ff") or 0)
            one.max_length = int(inherited(element, "/MaxLen") or 0)
            for option in inherited(element, "/Opt") or []:
                pair = list(option) if isinstance(option, pikepdf.Array) else [option, option]
                one.options.append((str(pair[0]), str(pair[-1])))
            for widget in list(element.get("/Kids", [])) or [element]:
                if "/Rect" not in widget:
                    continue
                left, bottom, right, top_edge = (float(edge) for edge in widget["/Rect"])
                box = (min(left, right), min(bottom, top_edge), max(left, right), max(bottom, top_edge))
                place = Widget(pages.get(widget.objgen, 0), box, widget)
                looks = widget.get("/AP", Dictionary()).get("/N")
                if one.kind in ("box", "radio") and isinstance(looks, Dictionary):
                    place.on = next((str(key)[1:] for key in looks.keys() if key != "/Off"), "")  # noqa: SIM118
                if one.kind == "box" and not place.on:
                    place.on = "Yes"
                one.widgets.append(place)
            found.append(one)
    return found
