#!/usr/bin/env python3
"""Checks every slide: overlaps, text that does not fit, contrast, empty areas, sizes, descriptions, titles, glyphs.

Errors (exit 1) are visible or missing for every reader. Warnings are matters of design. With LibreOffice, the script
also draws the slides into --out, with sheet.png, and measures the empty share of each slide.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from office import check_package, contact_sheet, convert, draw, run
from glyphs import missing_glyphs
from looks import POINT, color_of, contrast, run_look, text_box, theme_colors, walk
from pptx import Presentation
from pptx.oxml.ns import qn
from pptx.slide import Slide

LEFT_OVER = re.compile(r"\{\{|\}\}|\bTODO\b|lorem ipsum|\bNone\b|\bnan\b|\bundefined\b|click to add", re.IGNORECASE)
SMALL = ("ftr", "sldNum", "dt")


def kind_of(shape: Any) -> str:
    """Returns the type of a placeholder, or an empty string."""
    return str(shape._element.ph.get("type", "obj")) if shape.is_placeholder else ""


def box(shape: Any) -> tuple[int, int, int, int]:
    """Returns left, top, right and bottom."""
    return shape.left, shape.top, shape.left + shape.width, shape.top + shape.height


def shared(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> float:
    """Returns the overlap of two boxes as a share of the smaller one."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1]))
    return max(width, 0) * max(height, 0) / smaller if smaller and width > 0 and height > 0 else 0.0


def is_panel(shape: Any) -> bool:
    """Whether the shape is a background for other shapes."""
    return shape.shape_type == 1 and not shape.text_frame.text.strip()


def place_errors(slide: Slide, size: tuple[int, int]) -> Iterator[str]:
    """Finds shapes that extend beyond the slide or overlap."""
    shapes = [one for one in walk(slide.shapes) if one.width is not None and one.shape_type != 9]
    for one in shapes:
        left, top, right, bottom = box(one)
        if left < -POINT or top < -POINT or right > size[0] + POINT or bottom > size[1] + POINT:
            yield f"{one.name!r} extends beyond the slide"
    full = [one for one in shapes if not is_panel(one) and (not one.has_text_frame or one.text_frame.text.strip())]
    for index, one in enumerate(full):
        for other in full[index + 1 :]:
            if (share := shared(box(one), box(other))) > 0.03:
                yield f"{one.name!r} and {other.name!r} overlap by {share:.0%}"


def text_errors(slide: Slide, theme: dict[str, str]) -> Iterator[str]:
    """Finds text that does not fit, small text and low contrast."""
    for shape in walk(slide.shapes):
        if not shape.has_text_frame or not shape.text_frame.text.strip() or shape.width is None:
            continue
        needed, height = text_box(shape, theme)
        if needed > height * 1.03 + 2:
            yield f"the text of {shape.name!r} needs {needed:.0f} pt and has {height:.0f} pt"
        ground = ground_of(slide, shape, theme)
        for paragraph in shape.text_frame.paragraphs:
            for part in paragraph.runs:
                size, bold, color = run_look(shape, paragraph, part, theme)
                shown = part.text.strip()[:30]
                if not shown:
                    continue
                if size < (9 if kind_of(shape) in SMALL else 12):
                    yield f"{shown!r} is set in {size:g} pt, below 12"
                if color and ground:
                    large = size >= 18 or (bold and size >= 14)
                    ratio = contrast(color, ground)
                    if ratio < (3 if large else 4.5):
                        yield f"{shown!r} has a contrast of {ratio:.1f} ({color} on {ground})"


def ground_of(slide: Slide, shape: Any, theme: dict[str, str]) -> str | None:
    """Returns the colour behind a text, or None if it is a picture or unknown."""
    fill = shape._element.find(f"{qn('p:spPr')}/{qn('a:solidFill')}")
    if fill is not None:
        return color_of(fill, theme)
    below = []
    for other in walk(slide.shapes):
        if other._element is shape._element:
            break
        below.append(other)
    drawn = [one for one in slide.slide_layout.shapes if not one.is_placeholder]
    for other in [*reversed(below), *reversed(drawn)]:
        inside = other.width is not None and shared(box(other), box(shape)) > 0.9 and other.width >= shape.width
        found = other._element.find(f"{qn('p:spPr')}/{qn('a:solidFill')}")
        if inside and (found is not None or other.shape_type == 13):
            return None if found is None else color_of(found, theme)
    for level in (slide, slide.slide_layout, slide.slide_layout.slide_master):
        back = level._element.find(f"{qn('p:cSld')}/{qn('p:bg')}")
        if back is not None:
            solid = back.find(f"{qn('p:bgPr')}/{qn('a:solidFill')}")
            return color_of(solid if solid is not None else back.find(qn("p:bgRef")), theme)
    return theme.get("lt1")


def content_errors(slide: Slide) -> Iterator[str]:
    """Finds missing titles and descriptions, empty placeholders and leftover text."""
    title = slide.shapes.title
    if title is None or not title.text_frame.text.strip():
        yield "it has no title"
    for shape in walk(slide.shapes):
        kind = kind_of(shape)
        empty = shape.has_text_frame and not shape.text_frame.text.strip()
        if shape.is_placeholder and empty and kind not in SMALL:
            yield f"the placeholder {shape.name!r} is empty"
        if shape.has_text_frame and (found := LEFT_OVER.search(shape.text_frame.text)):
            yield f"leftover {found.group()!r} in {shape.name!r}"
        picture = shape._element.tag in (qn("p:pic"), qn("p:graphicFrame"))
        described = (shape._element.xpath("./*/p:cNvPr/@descr") or [""])[0]
        # By default, python-pptx writes the file name as the description.
        if picture and (not described or re.fullmatch(r"\S+\.\w{3,4}", described)):
            yield f"{shape.name!r} has no description"
        if shape.has_chart:
            sizes = [int(one.get("sz")) for one in shape.chart._chartSpace.iter(qn("a:defRPr")) if one.get("sz")]
            if sizes and min(sizes) < 1100:
                yield f"the chart {shape.name!r} has text of {min(sizes) / 100:g} pt"


def texts(slide: Slide) -> Iterator[str]:
    """Yields all texts of a slide, including tables, charts and notes."""
    for shape in walk(slide.shapes):
        if shape.has_text_frame:
            yield shape.text_frame.text
        if shape.has_table:
            yield from (cell.text for row in shape.table.rows for cell in row.cells)
        if shape.has_chart:
            yield from (str(one.text or "") for one in shape.chart._chartSpace.iter(qn("c:v"), qn("a:t")))
    if slide.has_notes_slide:
        yield slide.notes_slide.notes_text_frame.text if slide.notes_slide.notes_text_frame else ""


def empty_areas(page: Path) -> Iterator[str]:
    """Finds empty areas of a drawn slide, between its title and its footer."""
    from PIL import Image, ImageChops

    picture = Image.open(page).convert("RGB")
    width, height = picture.size
    zone = picture.crop((round(width * 0.05), round(height * 0.2), round(width * 0.95), round(height * 0.86)))
    back = Image.new("RGB", zone.size, picture.getpixel((2, 2)))
    found = ImageChops.difference(zone, back).convert("L").point(lambda value: 255 if value > 12 else 0).getbbox()
    if found is None:
        yield "it is empty below its title"
        return
    if found[3] < zone.height * 0.55:
        yield f"its lower {1 - found[3] / zone.height:.0%} are empty: use fewer slides, larger text, or `points`"
    if found[2] < zone.width * 0.6:
        yield f"its right {1 - found[2] / zone.width:.0%} are empty"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deck", type=Path)
    parser.add_argument("--out", type=Path, default=Path("slides"), help="a folder for the drawn slides (slides)")
    parser.add_argument("--no-draw", action="store_true", help="do not draw the slides, without LibreOffice")
    given = parser.parse_args()
    check_package(given.deck, "ppt/presentation.xml")
    prs = Presentation(str(given.deck))
    size = (prs.slide_width, prs.slide_height)
    errors, warnings = [], []
    titles: dict[str, int] = {}
    for number, slide in enumerate(prs.slides, 1):
        theme = theme_colors(slide)
        found = [*place_errors(slide, size), *text_errors(slide, theme), *content_errors(slide)]
        found += [f"no installed font has {one}" for one in missing_glyphs(texts(slide))]
        errors += [f"slide {number}: {one}" for one in dict.fromkeys(found)]
        title = slide.shapes.title.text_frame.text if slide.shapes.title is not None else ""
        if title in titles:
            warnings.append(f"slide {number}: it has the same title as slide {titles[title]}")
        titles.setdefault(title, number)
    if not given.no_draw:
        pages = draw(convert(given.deck, "pdf", given.out), given.out, 60)
        contact_sheet(pages, given.out / "sheet.png", 3, 560)
        for number, (slide, page) in enumerate(zip(prs.slides, pages, strict=False), 1):
            if slide.slide_layout.name.lower() not in ("cover", "section", "title slide", "section header"):
                warnings += [f"slide {number}: {one}" for one in empty_areas(page)]
    for one in errors:
        print(f"error: {one}")
    for one in warnings:
        print(f"warning: {one}")
    look = "" if given.no_draw else f"; look at {given.out}/sheet.png, then at single slides"
    print(f"{given.deck}: {len(prs.slides)} slides, {len(errors)} errors, {len(warnings)} warnings{look}")
    return 1 if errors else 0


if __name__ == "__main__":
    run(main)
