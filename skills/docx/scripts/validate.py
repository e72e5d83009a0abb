#!/usr/bin/env python3
"""Checks that Word can open a document without repair, and that the document is well structured.

Errors (exit 1): broken relationships, elements out of order, duplicate numbers, tables with wrong cells, comments
without an anchor, and characters without a glyph. Warnings: pictures without a description, skipped heading levels,
layout by empty paragraphs, and leftover template text. --fix puts elements into the correct order.
"""

import argparse
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from office import run
from glyphs import missing_glyphs
from lxml import etree
from order import ORDER
from word import RELATIONS, TYPES, Package, paragraph_text, w

LEFT_OVER = re.compile(r"\{\{|\}\}|\bTODO\b|\bTBD\b|lorem ipsum|\bNone\b|\bnan\b|\bundefined\b|\[TOC\]", re.IGNORECASE)
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"


def package_errors(package: Package) -> Iterator[str]:
    """Checks content types and relationships."""
    types = package.tree("[Content_Types].xml")
    known = {one.get("PartName", "").lstrip("/") for one in types.iter(f"{{{TYPES}}}Override")}
    endings = {one.get("Extension", "").lower() for one in types.iter(f"{{{TYPES}}}Default")}
    for name in sorted(package.parts):
        is_typed = name in known or name.rsplit(".", 1)[-1].lower() in endings
        if not is_typed and not name.endswith("/") and name != "[Content_Types].xml":
            yield f"{name} has no content type"
    for name in sorted(known - set(package.parts)):
        yield f"{name} has a content type but is missing"
    for name in sorted(one for one in package.parts if one.endswith(".rels")):
        source = posixpath.dirname(posixpath.dirname(name))
        for relation in package.tree(name).iter(f"{{{RELATIONS}}}Relationship"):
            target = unquote(relation.get("Target", ""))
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(source, target))
            if relation.get("TargetMode") != "External" and path not in package.parts:
                yield f"{name} points to {target}, which is missing"


def reference_errors(package: Package) -> Iterator[str]:
    """Checks references by `r:id`, and numbers that must be unique."""
    for name in [one for one in package.parts if one.startswith("word/") and one.endswith(".xml")]:
        tree = package.tree(name)
        beside = f"word/_rels/{posixpath.basename(name)}.rels"
        known = {one.get("Id") for one in package.tree(beside)} if beside in package.parts else set()
        for element in tree.iter():
            for key, value in element.attrib.items():
                if "officeDocument/2006/relationships" in key and value and value not in known:
                    yield f"{name} uses the relationship {value}, which is missing"
        for kind, tag in (("bookmark", w("bookmarkStart")), ("comment range", w("commentRangeStart"))):
            numbers = Counter(one.get(w("id")) for one in tree.iter(tag))
            yield from (f"{name}: {count} {kind}s have the number {one}" for one, count in numbers.items() if count > 1)
    body = package.tree()
    comments = (
        {one.get(w("id")) for one in package.tree("word/comments.xml")}
        if "word/comments.xml" in package.parts
        else set()
    )
    placed = {one.get(w("id")) for one in body.iter(w("commentReference"))}
    yield from (f"the comment {one} has no text" for one in sorted(placed - comments))
    yield from (f"the comment {one} has no anchor in the text" for one in sorted(comments - placed))


def order_errors(package: Package, fix: bool) -> Iterator[str]:
    """Checks that elements are in the order of the schema. Corrects the order if `fix` is set."""
    for name in [one for one in package.parts if one.startswith("word/") and one.endswith(".xml")]:
        for element in package.tree(name).iter(*(w(one) for one in ORDER)):
            kind = etree.QName(element).localname
            if kind == "rPr" and element.getparent().tag == w("rPrChange"):
                continue
            ranks = {one: rank for rank, one in enumerate(ORDER[kind])}
            known = [one for one in element if isinstance(one.tag, str) and etree.QName(one).namespace == w("")[1:-1]]
            found = [ranks.get(etree.QName(one).localname, -1) for one in known]
            found = [one for one in found if one >= 0]
            if found != sorted(found):
                if fix:
                    rest = [one for one in element if one not in known]
                    element[:] = sorted(known, key=lambda one: ranks.get(etree.QName(one).localname, 999)) + rest
                else:
                    names = " ".join(etree.QName(one).localname for one in known)
                    yield f"{name}: the elements of {kind} are out of order ({names}); --fix corrects it"


def structure_errors(package: Package) -> Iterator[str]:
    """Checks tables, and text in tracked deletions."""
    tree = package.tree()
    for number, table in enumerate(tree.iter(w("tbl")), 1):
        columns = len(table.findall(f"{w('tblGrid')}/{w('gridCol')}"))
        for row_number, row in enumerate(table.findall(w("tr")), 1):
            cells = row.findall(w("tc"))
            spans = [one.find(f"{w('tcPr')}/{w('gridSpan')}") for one in cells]
            skipped = [row.find(f"{w('trPr')}/{w(one)}") for one in ("gridBefore", "gridAfter")]
            width = sum(1 if one is None else int(one.get(w("val"), "1")) for one in spans)
            width += sum(int(one.get(w("val"), "0")) for one in skipped if one is not None)
            if columns and not row.findall(w("sdt")) and width != columns:
                yield f"table {number}, row {row_number}: {width} columns, the table has {columns}"
            for cell in cells:
                if len(cell) == 0 or cell[-1].tag not in (w("p"), w("sdt")):
                    yield f"table {number}, row {row_number}: a cell does not end with a paragraph"
    for wrong in tree.iterfind(f".//{w('del')}//{w('t')}"):
        yield f"a tracked deletion contains text that is not marked as deleted: {wrong.text!r}"


def warnings(package: Package) -> Iterator[str]:
    """Returns findings that are valid, but not good practice."""
    tree, level, empty = package.tree(), 0, 0
    styles = {
        one.get(w("styleId")): str(one.find(w("name")).get(w("val"))).lower()
        for one in package.tree("word/styles.xml").iter(w("style"))
        if one.find(w("name")) is not None
    }
    for one in tree.iter(DRAWING):
        if not (one.get("descr") or one.get("title")):
            yield f"the picture {one.get('name') or one.get('id')!r} has no description"
    for paragraph in tree.iter(w("p")):
        text = paragraph_text(paragraph)
        if found := LEFT_OVER.search(text):
            yield f"leftover {found.group()!r} in {text.strip()[:60]!r}"
        style = paragraph.find(f"{w('pPr')}/{w('pStyle')}")
        name = "" if style is None else styles.get(style.get(w("val")), "")
        if name.startswith("heading ") and name[8:].isdigit() and text.strip():
            if int(name[8:]) > level + 1:
                yield f"the heading {text[:60]!r} has level {name[8:]} and follows one of level {level}"
            level = int(name[8:])
        blank = not text.strip() and len(list(paragraph.iter(w("drawing"), w("br"), w("sectPr")))) == 0
        empty = empty + 1 if blank and not name else 0
        if empty == 2:
            yield "consecutive empty paragraphs: set the space before or after a paragraph instead"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", type=Path)
    parser.add_argument("--fix", action="store_true", help="put elements into the correct order, in place")
    given = parser.parse_args()
    package = Package(given.document)
    errors = [*order_errors(package, given.fix), *package_errors(package), *reference_errors(package)]
    errors += structure_errors(package)
    texts = [paragraph_text(one) for name in package.texts() for one in package.tree(name).iter(w("p"))]
    errors += [f"no installed font has {one}" for one in missing_glyphs(texts)]
    if given.fix:
        package.save(given.document)
    noted = list(warnings(package))
    for one in errors:
        print(f"error: {one}")
    for one in noted:
        print(f"warning: {one}")
    print(f"{given.document}: {len(errors)} errors, {len(noted)} warnings in {len(package.parts)} parts")
    return 1 if errors else 0


if __name__ == "__main__":
    run(main)
