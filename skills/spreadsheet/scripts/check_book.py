#!/usr/bin/env python3
"""Checks a workbook: errors, formulas without values, numbers stored as text, widths, glyphs. Can also draw it.

Errors (exit 1): error cells, formula cells without a stored value (run recalc.py), numbers and dates that do not
fit their column, and characters without a glyph. Warnings: numbers stored as text, constants inside formulas, hidden
sheets, charts without a description.
"""

import argparse
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from office import check_package, contact_sheet, convert, draw, run
from glyphs import missing_glyphs
from house import shown_width
from openpyxl import load_workbook
from openpyxl.utils import get_column_letter

NUMBER = re.compile(r"[-+]?(\d{1,3}([., ]\d{3})+|\d+)([.,]\d+)?\s?[%€$]?")
# A factor or rate in a formula that should be in its own cell: 1.19, 0.05, but not 0, 12, 100 or a year.
CONSTANT = re.compile(r"(?<![A-Za-z_$\d.:!])(?!(?:100|360|365|1000|19\d\d|20\d\d)\b)(\d+\.\d+|\d{3,})(?![\w.:!(])")
ERRORS = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"}
LEFT_OVER = re.compile(r"\{\{|\bTODO\b|lorem ipsum|\bNone\b|\bnan\b|\bundefined\b", re.IGNORECASE)


def text_findings(place: str, shown: str, is_text: bool) -> Iterator[tuple[str, str]]:
    """Finds error values, and texts that should be another type."""
    if shown in ERRORS:
        yield "error", f"{place}: {shown}"
    elif is_text:
        if NUMBER.fullmatch(shown.strip()) and not shown.startswith("0") and len(shown) < 16:
            yield "warning", f"{place} is a number stored as text: {shown!r}"
        if found := LEFT_OVER.search(shown):
            yield "warning", f"leftover {found.group()!r} in {place}"


def cell_findings(name: str, formulas: Any, values: Any) -> Iterator[tuple[str, str]]:
    """Yields the findings in the cells of a sheet."""
    widths: dict[str, list[str]] = {}
    for row in formulas.iter_rows():
        for cell in row:
            if cell.value is None:
                continue
            place, shown = f"{name}!{cell.coordinate}", values[cell.coordinate].value
            if cell.data_type == "f":
                if shown is None:
                    yield "error", f"{place} has no stored value: run recalc.py"
                if found := CONSTANT.search(re.sub(r'"[^"]*"', '""', str(cell.value))):
                    yield "warning", f"{place} has the constant {found.group(1)}: {cell.value}"
            if isinstance(shown, str):
                yield from text_findings(place, shown, cell.data_type == "s")
            elif not isinstance(shown, (bool, type(None))):
                letter = get_column_letter(cell.column)
                width = formulas.column_dimensions[letter].width or 8.43
                if shown_width(shown, cell.number_format) > width + 1:
                    widths.setdefault(letter, []).append(cell.coordinate)
    for letter, cells in widths.items():
        yield "error", f"{name}: column {letter} is too narrow for {cells[0]}: it shows ###"


def chart_findings(path: Path) -> Iterator[tuple[str, str]]:
    """Finds charts and pictures without a description."""
    with zipfile.ZipFile(path) as package:
        for part in [one for one in package.namelist() if re.fullmatch(r"xl/drawings/drawing\d+\.xml", one)]:
            for found in re.finditer(rb"<(?:\w+:)?cNvPr\b[^>]*>", package.read(part)):
                text = found.group().decode(errors="replace")
                if 'descr="' not in text or 'descr=""' in text:
                    yield "warning", f"a chart or picture in {part} has no description"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workbook", type=Path)
    parser.add_argument("--draw", type=Path, help="a folder for its pages and sheet.png, drawn by LibreOffice")
    given = parser.parse_args()
    check_package(given.workbook, "xl/workbook.xml")
    formulas, values = load_workbook(given.workbook), load_workbook(given.workbook, data_only=True)
    found: list[tuple[str, str]] = []
    texts = []
    count = 0
    for sheet in formulas.worksheets:
        found += cell_findings(sheet.title, sheet, values[sheet.title])
        if sheet.sheet_state != "visible":
            found.append(("warning", f"{sheet.title} is hidden"))
        for row in values[sheet.title].iter_rows(values_only=True):
            texts += [str(one) for one in row if isinstance(one, str)]
        count += sum(1 for row in sheet.iter_rows() for cell in row if cell.data_type == "f")
    found += [("error", f"no installed font has {one}") for one in missing_glyphs(texts)]
    found += chart_findings(given.workbook)
    for kind, text in found[:200]:
        print(f"{kind}: {text}")
    look = ""
    if given.draw:
        pages = draw(convert(given.workbook, "pdf", given.draw), given.draw, 60)
        contact_sheet(pages[:24], given.draw / "sheet.png", 3, 560)
        look = f"; {len(pages)} pages drawn, look at {given.draw}/sheet.png"
    errors = sum(kind == "error" for kind, _ in found)
    sheets = len(formulas.worksheets)
    print(f"{given.workbook}: {sheets} sheets, {count} formulas, {errors} errors, {len(found) - errors} warnings{look}")
    return 1 if errors else 0


if __name__ == "__main__":
    run(main)
