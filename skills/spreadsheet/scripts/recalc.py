#!/usr/bin/env python3
"""Computes a workbook with LibreOffice and stores the values in it, so that previews and pandas can read them.

Formulas, formats, charts and macros do not change, only the stored values of formula cells. Each error cell is printed
with its formula. The exit status is 1 if there is one.
"""

import argparse
import posixpath
import re
import tempfile
import zipfile
from pathlib import Path

from office import Problem, check_package, convert, run
from lxml import etree

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
WORKBOOK = "xl/workbook.xml"
# Functions that LibreOffice 7 does not support. Excel computes them when it opens the file.
UNKNOWN = re.compile(r"\b(XLOOKUP|XMATCH|FILTER|UNIQUE|SORT|SORTBY|LET|LAMBDA|SEQUENCE|TEXTSPLIT|VSTACK|HSTACK)\(")


def m(name: str) -> str:
    """Returns a qualified name of SpreadsheetML."""
    return f"{{{MAIN}}}{name}"


def parse(data: bytes) -> etree._Element:
    """Parses XML without entities."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))


def sheets(package: zipfile.ZipFile) -> list[tuple[str, str]]:
    """Returns the names and parts of the worksheets, in order."""
    relations = parse(package.read("xl/_rels/workbook.xml.rels"))
    targets = {one.get("Id"): str(one.get("Target")) for one in relations}
    found = []
    for sheet in parse(package.read(WORKBOOK)).iter(m("sheet")):
        target = targets.get(sheet.get(RELATION), "")
        part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join("xl", target))
        if part in package.namelist() and "worksheets/" in part:
            found.append((str(sheet.get("name")), part))
    return found


def computed(path: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Returns the kind and value of every cell of a computed workbook, by sheet and address."""
    with zipfile.ZipFile(path) as package:
        shared: list[str] = []
        if "xl/sharedStrings.xml" in package.namelist():
            for item in parse(package.read("xl/sharedStrings.xml")).iter(m("si")):
                shared.append("".join(one.text or "" for one in item.iter(m("t"))))
        result: dict[str, dict[str, tuple[str, str]]] = {}
        for name, part in sheets(package):
            cells = result.setdefault(name, {})
            for cell in parse(package.read(part)).iter(m("c")):
                kind, value = cell.get("t", "n"), cell.findtext(m("v")) or ""
                if kind == "s":
                    kind, value = "str", shared[int(value)]
                cells[str(cell.get("r"))] = (kind, value)
    return result


def fill(tree: etree._Element, values: dict[str, tuple[str, str]], sheet: str) -> tuple[int, list[str], list[str]]:
    """Stores values in the formula cells. Returns the number of formulas, the errors, and the cells without a value."""
    count = 0
    errors: list[str] = []
    skipped: list[str] = []
    formulas: dict[str, str] = {}
    for cell in tree.iter(m("c")):
        formula = cell.find(m("f"))
        if formula is None:
            continue
        count += 1
        address = str(cell.get("r"))
        if formula.get("t") == "shared" and formula.text:
            formulas[str(formula.get("si"))] = formula.text
        text = formula.text or formulas.get(str(formula.get("si")), "")
        for old in [*cell.findall(m("v")), *cell.findall(m("is"))]:
            cell.remove(old)
        cell.attrib.pop("t", None)
        kind, value = values.get(address, ("str", ""))
        if kind == "e" and UNKNOWN.search(text):
            skipped.append(f"{sheet}!{address}")
            continue
        if kind == "e" or value.startswith("Err:"):
            errors.append(f"{sheet}!{address}: {value}  ={text}")
            kind, value = "e", value if value.startswith("#") else "#VALUE!"
        if kind != "n":
            cell.set("t", kind)
        if value or kind == "str":
            stored = etree.Element(m("v"))
            stored.text = value
            formula.addnext(stored)
    return count, errors, skipped


def recalc(source: Path, out: Path) -> tuple[int, list[str], list[str]]:
    """Writes a computed copy."""
    check_package(source, WORKBOOK)
    with tempfile.TemporaryDirectory() as folder:
        values = computed(convert(source, "xlsx:Calc MS Excel 2007 XML", Path(folder) / "computed"))
    with zipfile.ZipFile(source) as package:
        parts = {entry.filename: package.read(entry) for entry in package.infolist()}
        found = sheets(package)
    total = 0
    errors: list[str] = []
    skipped: list[str] = []
    for name, part in found:
        if name not in values:
            raise Problem(f"LibreOffice lost the sheet {name!r}")
        tree = parse(parts[part])
        count, wrong, left = fill(tree, values[name], name)
        if count:
            parts[part] = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
        total, errors, skipped = total + count, errors + wrong, skipped + left
    book = parse(parts[WORKBOOK])
    settings = book.find(m("calcPr"))
    if settings is not None:
        settings.set("fullCalcOnLoad", "1")
        parts[WORKBOOK] = etree.tostring(book, xml_declaration=True, encoding="UTF-8", standalone=True)
    # Written to another file first, because `out` may be the input.
    beside = out.with_name(f".{out.name}.part")
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in parts.items():
            package.writestr(name, data)
    beside.replace(out)
    return total, errors, skipped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workbook", type=Path)
    parser.add_argument("out", type=Path, nargs="?", help="the output (the input itself)")
    given = parser.parse_args()
    out = given.out or given.workbook
    total, errors, skipped = recalc(given.workbook, out)
    for one in errors:
        print(f"error: {one}")
    for one in skipped:
        print(f"warning: {one} has a function that LibreOffice does not support; Excel computes it on opening")
    print(f"{out}: {total} formulas computed, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    run(main)
