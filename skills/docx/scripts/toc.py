#!/usr/bin/env python3
"""Adds a table of contents with links and the page numbers of LibreOffice's layout. Word can update it.

It replaces an existing table of contents, or a paragraph that contains only `[TOC]`. Otherwise it is inserted before
the first heading.
"""

import argparse
import tempfile
from pathlib import Path

from office import Problem, check_package, convert, run
from docx import Document
from docx.document import Document as DocumentType
from docx.enum.text import WD_TAB_ALIGNMENT, WD_TAB_LEADER
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Length
from docx.text.paragraph import Paragraph
from pypdf import PdfReader
from word import DOCUMENT

PLACE = "[TOC]"
MARK = "_Toc7000"


def heading_level(paragraph: Paragraph) -> int:
    """Returns the level 1 to 9 of a heading, or 0 for other paragraphs."""
    style = paragraph.style
    while style is not None:
        name = style.name.lower()
        if name.startswith("heading ") and name[8:].isdigit():
            return int(name[8:])
        if name.startswith("toc "):
            return 0
        style = style.base_style
    return 0


def headings(document: DocumentType, levels: int) -> list[tuple[int, Paragraph]]:
    """Returns the headings that the table lists."""
    found = [(heading_level(one), one) for one in document.paragraphs if one.text.strip()]
    return [(level, one) for level, one in found if 0 < level <= levels]


def remove_old(document: DocumentType) -> Paragraph | None:
    """Removes an old table of contents. Returns an empty paragraph in its place, if there was one."""
    body, depth, inside, place = document.element.body, 0, False, None
    gone = []
    for element in list(body):
        codes = "".join(one.text or "" for one in element.iter(qn("w:instrText")))
        starts = codes.strip().upper().startswith("TOC ") and not inside
        inside = inside or starts
        if inside:
            gone.append(element)
            for mark in element.iter(qn("w:fldChar")):
                depth += {"begin": 1, "end": -1}.get(mark.get(qn("w:fldCharType")), 0)
            if depth <= 0:
                inside = False
                break
    if inside:
        raise Problem("the old table of contents has no end mark; delete it by hand")
    if gone:
        place = OxmlElement("w:p")
        gone[0].addprevious(place)
        for element in gone:
            body.remove(element)
    return None if place is None else Paragraph(place, document._body)


def find_place(document: DocumentType, listed: list[tuple[int, Paragraph]]) -> Paragraph:
    """Returns the empty paragraph that becomes the first line of the table."""
    old = remove_old(document)
    if old is not None:
        return old
    for paragraph in document.paragraphs:
        if paragraph.text.strip() == PLACE:
            for child in list(paragraph._p):
                paragraph._p.remove(child)
            return paragraph
    return listed[0][1].insert_paragraph_before("")


def bookmark(paragraph: Paragraph, number: int) -> str:
    """Adds a bookmark to a heading, and returns its name for links."""
    name = f"{MARK}{number:04d}"
    for old in list(paragraph._p.iter(qn("w:bookmarkStart"))):
        if str(old.get(qn("w:name"))) == name:
            return name
    start, end = OxmlElement("w:bookmarkStart"), OxmlElement("w:bookmarkEnd")
    for mark in (start, end):
        mark.set(qn("w:id"), str(70_000 + number))
    start.set(qn("w:name"), name)
    paragraph._p.insert(0 if paragraph._p.pPr is None else 1, start)
    paragraph._p.append(end)
    return name


def field(kind: str, text: str = "") -> OxmlElement:
    """Returns a run with a part of a field."""
    run_element = OxmlElement("w:r")
    if kind == "code":
        code = OxmlElement("w:instrText")
        code.text = text
        code.set(qn("xml:space"), "preserve")
        run_element.append(code)
    else:
        mark = OxmlElement("w:fldChar")
        mark.set(qn("w:fldCharType"), kind)
        run_element.append(mark)
    return run_element


def write(document: DocumentType, levels: int, title: str) -> list[Paragraph]:
    """Writes the table with a placeholder for each page number. Returns the entries."""
    listed = headings(document, levels)
    if not listed:
        raise Problem(f"there are no headings of level 1 to {levels}")
    first = find_place(document, listed)
    section = document.sections[0]
    width = Length(section.page_width - section.left_margin - section.right_margin)
    if title:
        style = "TOC Heading" if "TOC Heading" in document.styles else None
        first.insert_paragraph_before(title, style=style)
    entries: list[Paragraph] = []
    for index, (level, heading) in enumerate(listed):
        name = bookmark(heading, index)
        entry = first if index == 0 else Paragraph(OxmlElement("w:p"), first._parent)
        if index:
            entries[-1]._p.addnext(entry._p)
        for known in (f"toc {level}", f"TOC {level}"):
            if known in document.styles:
                entry.style = known
        entry.paragraph_format.tab_stops.add_tab_stop(width, WD_TAB_ALIGNMENT.RIGHT, WD_TAB_LEADER.DOTS)
        if index == 0:
            for part in (("begin",), ("code", f' TOC \\o "1-{levels}" \\h \\z \\u '), ("separate",)):
                entry._p.append(field(*part))
        link = OxmlElement("w:hyperlink")
        link.set(qn("w:anchor"), name)
        link.set(qn("w:history"), "1")
        for text in (heading.text.strip(), "\t"):
            link.append(entry.add_run(text)._r)
        for part in (("begin",), ("code", f" PAGEREF {name} \\h "), ("separate",)):
            link.append(field(*part))
        link.append(entry.add_run("0")._r)
        link.append(field("end"))
        entry._p.append(link)
        entries.append(entry)
    entries[-1]._p.append(field("end"))
    return entries


def pages(path: Path, expected: list[str]) -> list[int]:
    """Returns the page of each heading, from the outline of LibreOffice's PDF."""
    with tempfile.TemporaryDirectory() as folder:
        reader = PdfReader(convert(path, "pdf", Path(folder)))
        found: list[tuple[str, int]] = []

        def walk(outline: list) -> None:  # type: ignore[type-arg]
            for one in outline:
                if isinstance(one, list):
                    walk(one)
                else:
                    number = reader.get_destination_page_number(one)
                    found.append((" ".join(str(one.title).split()), (number or 0) + 1))

        walk(reader.outline)
    result, at = [], 0
    for text in expected:
        wanted = " ".join(text.split())
        while at < len(found) and not found[at][0].endswith(wanted):
            at += 1
        if at == len(found):
            raise Problem(f"the heading {text[:60]!r} was not found in the layout")
        result.append(found[at][1])
        at += 1
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--levels", type=int, choices=range(1, 4), default=2)
    parser.add_argument("--title", default="Contents", help="the heading above the table, empty for none (Contents)")
    given = parser.parse_args()
    check_package(given.document, DOCUMENT)
    document = Document(str(given.document))
    had = any(one.text.strip() == given.title for one in document.paragraphs)
    entries = write(document, given.levels, "" if had else given.title)
    names = ["".join(text.text or "" for text in one._p.iter(qn("w:t")))[:-1] for one in entries]
    document.save(str(given.out))
    numbers = pages(given.out, names)
    for entry, number in zip(entries, numbers, strict=True):
        shown = list(entry._p.iter(qn("w:t")))[-1]
        shown.text = str(number)
    document.save(str(given.out))
    if pages(given.out, names) != numbers:
        raise Problem(f"{given.out}: the page numbers move headings; shorten the table with --levels 1")
    print(f"{given.out}: {len(entries)} entries on pages {numbers[0]} to {numbers[-1]}, as LibreOffice lays it out")


if __name__ == "__main__":
    run(main)
