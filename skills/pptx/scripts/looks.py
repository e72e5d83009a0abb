"""The appearance of a deck's text: sizes, colours and space, with the inheritance rules of PowerPoint."""

import subprocess
from collections.abc import Iterator
from functools import cache
from typing import Any

from PIL import ImageFont
from pptx.oxml.ns import qn
from pptx.slide import Slide

POINT = 12700
COLOR_NAMES = {"tx1": "dk1", "bg1": "lt1", "tx2": "dk2", "bg2": "lt2"}


def walk(shapes: Any) -> Iterator[Any]:
    """Yields all shapes, including those in groups."""
    for shape in shapes:
        if shape.shape_type == 6:
            yield from walk(shape.shapes)
        else:
            yield shape


def theme_colors(slide: Slide) -> dict[str, str]:
    """Returns the colours of the slide's theme by name."""
    from lxml import etree

    master = slide.slide_layout.slide_master
    part = next(rel.target_part for rel in master.part.rels.values() if rel.reltype.endswith("/theme"))
    scheme = etree.fromstring(part.blob, etree.XMLParser(resolve_entities=False)).find(f".//{qn('a:clrScheme')}")
    found = {}
    for entry in scheme:
        value = entry[0].get("lastClr") or entry[0].get("val")
        found[entry.tag.split("}")[1]] = str(value)
    return found


def color_of(fill: Any, theme: dict[str, str]) -> str | None:
    """Returns the colour of a `solidFill`, or None if it is another fill or a modified colour."""
    if fill is None or len(fill) == 0:
        return None
    value = fill[0]
    name = str(value.get("val"))
    if value.tag == qn("a:schemeClr"):
        name = theme.get(COLOR_NAMES.get(name, name), "")
    if len(value) or len(name) != 6:
        return None
    return name


def contrast(first: str, second: str) -> float:
    """Returns the contrast of two colours as defined by WCAG 2."""

    def light(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def styles(shape: Any, level: int) -> Iterator[Any]:
    """Yields the properties that a text level inherits: from shape, layout, master, and the master's text styles."""
    tag = qn(f"a:lvl{level + 1}pPr")
    own = [shape._element]
    kind = None
    if shape.is_placeholder:
        kind = shape.placeholder_format.type
        base = shape._base_placeholder if hasattr(shape, "_base_placeholder") else None
        while base is not None:
            own.append(base._element)
            base = base._base_placeholder if hasattr(base, "_base_placeholder") else None
    for element in own:
        found = element.find(f"{qn('p:txBody')}/{qn('a:lstStyle')}/{tag}")
        if found is not None:
            yield found
    master = shape.part.slide_layout.slide_master if hasattr(shape.part, "slide_layout") else None
    if master is not None:
        name = "otherStyle" if kind is None else "titleStyle" if kind in (1, 3) else "bodyStyle"
        found = master._element.find(f"{qn('p:txStyles')}/{qn('p:' + name)}/{tag}")
        if found is not None:
            yield found


def run_look(shape: Any, paragraph: Any, run: Any, theme: dict[str, str]) -> tuple[float, bool, str | None]:
    """Returns size in points, weight and colour of a run."""
    own = run._r.find(qn("a:rPr"))
    levels = [one.find(qn("a:defRPr")) for one in styles(shape, paragraph.level)]
    default = paragraph._p.find(f"{qn('a:pPr')}/{qn('a:defRPr')}")
    chain = [one for one in [own, default, *levels] if one is not None]
    size = next((int(one.get("sz")) / 100 for one in chain if one.get("sz")), 18.0)
    bold = next((one.get("b") in ("1", "true") for one in chain if one.get("b")), False)
    fill = next((one.find(qn("a:solidFill")) for one in chain if one.find(qn("a:solidFill")) is not None), None)
    style = shape._element.find(f"{qn('p:style')}/{qn('a:fontRef')}")
    fallback = theme.get("dk1") if style is None else color_of(style, theme)
    return size, bold, fallback if fill is None else color_of(fill, theme)


@cache
def font(size: int, bold: bool) -> ImageFont.FreeTypeFont:
    """Returns the font for measuring widths. Carlito is as wide as Calibri."""
    pattern = f"Carlito:weight={200 if bold else 80}"
    found = subprocess.run(["fc-match", "-f", "%{file}", pattern], capture_output=True, text=True, check=True)
    return ImageFont.truetype(found.stdout, size)


def paragraph_height(text: str, size: float, bold: bool, width: float) -> float:
    """Returns the height in points of a paragraph that wraps at words."""
    rows = 0
    for line in text.split("\v"):
        rows += 1
        at = 0.0
        for word in line.split(" "):
            length = font(100, bold).getlength(word) * size / 100
            space = font(100, bold).getlength(" ") * size / 100
            if at and at + length > width:
                rows, at = rows + 1, 0.0
            at += length + space
            rows += int(at // (width * 1.02)) if length > width else 0
    return rows * size * 1.2


def text_box(shape: Any, theme: dict[str, str]) -> tuple[float, float]:
    """Returns the height in points that the text of a shape needs, and the available height."""
    frame = shape.text_frame
    insets = [shape._element.find(f"{qn('p:txBody')}/{qn('a:bodyPr')}")]
    base = shape._base_placeholder if shape.is_placeholder and hasattr(shape, "_base_placeholder") else None
    if base is not None:
        insets.append(base._element.find(f"{qn('p:txBody')}/{qn('a:bodyPr')}"))

    def inset(name: str, default: int) -> int:
        return next((int(one.get(name)) for one in insets if one is not None and one.get(name) is not None), default)

    width = (shape.width - inset("lIns", 91440) - inset("rIns", 91440)) / POINT
    height = (shape.height - inset("tIns", 45720) - inset("bIns", 45720)) / POINT
    needed = 0.0
    for index, paragraph in enumerate(frame.paragraphs):
        looks = [run_look(shape, paragraph, run, theme)[:2] for run in paragraph.runs] or [(18.0, False)]
        size, bold = max(looks)
        chain = list(styles(shape, paragraph.level))
        own = paragraph._p.find(qn("a:pPr"))
        chain = chain if own is None else [own, *chain]
        left = next((int(one.get("marL")) for one in chain if one.get("marL")), 0) / POINT
        space = 0.0
        for name in ("a:spcBef", "a:spcAft"):
            found = next(
                (one.find(f"{qn(name)}/{qn('a:spcPts')}") for one in chain if one.find(qn(name)) is not None), None
            )
            counts = found is not None and (index > 0 or name == "a:spcAft")
            space += int(found.get("val")) / 100 if found is not None and counts else 0
        text = "".join(run.text for run in paragraph.runs)
        needed += space + paragraph_height(text, size, bold, max(width - left, 1))
    return needed, height
