"""Tables of a deck in the house style: thin lines, no bands."""

import re
from collections.abc import Sequence
from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml import parse_xml
from pptx.slide import Slide
from pptx.util import Inches, Pt
from template import INK, NAMESPACES, PALE, WHITE

NUMBER = re.compile(r"[-+−–]?[€$£]?\s?\d[\d.,'\s\u00a0\u202f]*\s?(?:%|€|[A-Z]{3}|[a-zµ]{1,3})?|[-–—]?")
# The style "No Style, No Grid" of PowerPoint.
PLAIN = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"


def line(cell: Any, side: str, color: str, width: float) -> None:
    """Adds a line to a side of a cell."""
    xml = (
        f'<a:{side} {NAMESPACES} w="{int(Pt(width))}"><a:solidFill><a:srgbClr val="{color}"/></a:solidFill></a:{side}>'
    )
    properties = cell._tc.get_or_add_tcPr()
    sides = [one for one in properties if one.tag.endswith(("}lnL", "}lnR", "}lnT", "}lnB"))]
    properties.insert(len(sides), parse_xml(xml))


def shares(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[float]:
    """Returns widths by the longest text of each column."""
    longest = [max(len(str(row[at])) for row in [header, *rows]) for at in range(len(header))]
    return [float(min(max(chars, 7), 34)) for chars in longest]


def fill_table(
    slide: Slide,
    box: tuple[Any, Any, Any, Any],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    total: bool,
    widths: Sequence[float] | None,
    description: str,
) -> Any:
    """Adds a table at the top of a box. Its rows are as high as possible, up to a limit."""
    if any(len(row) != len(header) for row in rows):
        raise ValueError(f"each row needs {len(header)} cells")
    left, top, width, height = box
    row_height = min(Inches(0.72), int(height / (len(rows) + 1)))
    if row_height < Inches(0.3):
        raise ValueError("at most about fourteen rows fit onto a slide: split the table")
    frame = slide.shapes.add_table(len(rows) + 1, len(header), left, top, width, row_height * (len(rows) + 1))
    frame.name = "Table"
    frame._element.nvGraphicFramePr.cNvPr.set("descr", description)
    table = frame.table
    table.horz_banding = False
    table._tbl.tblPr.find("{http://schemas.openxmlformats.org/drawingml/2006/main}tableStyleId").text = PLAIN
    parts = list(widths) if widths else shares(header, rows)
    for column, part in zip(table.columns, parts, strict=True):
        column.width = int(width * part / sum(parts))
    right = [bool(rows) and all(NUMBER.fullmatch(str(row[at]).strip()) for row in rows) for at in range(len(header))]
    size = Pt(20 if row_height >= Inches(0.6) else 16 if row_height >= Inches(0.42) else 14)
    for index, row in enumerate([header, *rows]):
        is_sum = total and index == len(rows)
        table.rows[index].height = row_height
        for at, text in enumerate(row):
            cell = table.cell(index, at)
            cell.text = str(text)
            cell.vertical_anchor = MSO_ANCHOR.MIDDLE
            cell.margin_top = cell.margin_bottom = Inches(0.03)
            cell.fill.solid()
            cell.fill.fore_color.rgb = RGBColor.from_string(PALE if index == 0 or is_sum else WHITE)
            paragraph = cell.text_frame.paragraphs[0]
            paragraph.font.size, paragraph.font.bold = size, index == 0 or is_sum
            paragraph.font.color.rgb = RGBColor.from_string(INK)
            paragraph.alignment = PP_ALIGN.RIGHT if right[at] else PP_ALIGN.LEFT
            line(cell, "lnB", INK if index in (0, len(rows)) else "D3DAE0", 1.25 if index in (0, len(rows)) else 0.75)
    return frame
