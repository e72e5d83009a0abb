"""The parts of a Word file as XML: texts, runs, and relationships."""

import copy
import zipfile
from collections.abc import Iterator
from pathlib import Path

from office import Problem, check_package
from lxml import etree

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
W14 = "http://schemas.microsoft.com/office/word/2010/wordml"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
OFFICE_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DOCUMENT = "word/document.xml"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
# The characters that the children of a run add to its text.
SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}


def w(name: str) -> str:
    """Returns a qualified name of WordprocessingML."""
    return f"{{{W}}}{name}"


class Package:
    """A Word file in memory. Parts that do not change are written unchanged."""

    def __init__(self, path: Path) -> None:
        check_package(path, DOCUMENT)
        with zipfile.ZipFile(path) as package:
            self.parts = {entry.filename: package.read(entry) for entry in package.infolist()}
        self._trees: dict[str, etree._Element] = {}

    def tree(self, name: str = DOCUMENT) -> etree._Element:
        """Returns the XML of a part, which is parsed once. `save` writes it back."""
        if name not in self._trees:
            parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
            self._trees[name] = etree.fromstring(self.parts[name], parser)
        return self._trees[name]

    def texts(self) -> list[str]:
        """Returns the names of the parts with text: first the body, then headers, footers and notes."""
        others = ("header", "footer", "footnotes", "endnotes")
        found = [name for name in self.parts if name.startswith(tuple(f"word/{one}" for one in others))]
        return [DOCUMENT, *sorted(name for name in found if name.endswith(".xml"))]

    def add(self, name: str, tree: etree._Element, content_type: str, relation: str) -> None:
        """Adds a part of the main document, with its content type and relationship."""
        self.parts[name], self._trees[name] = b"", tree
        types = self.tree("[Content_Types].xml")
        etree.SubElement(types, f"{{{TYPES}}}Override", PartName=f"/{name}", ContentType=content_type)
        relations = self.tree("word/_rels/document.xml.rels")
        used = {one.get("Id") for one in relations}
        new = next(f"rId{number}" for number in range(1, 100_000) if f"rId{number}" not in used)
        target = name.removeprefix("word/")
        etree.SubElement(relations, f"{{{RELATIONS}}}Relationship", Id=new, Type=relation, Target=target)

    def save(self, path: Path) -> None:
        """Writes the file, with the content types first."""
        for name, tree in self._trees.items():
            self.parts[name] = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
        names = sorted(self.parts, key=lambda name: name != "[Content_Types].xml")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
            for name in names:
                package.writestr(name, self.parts[name])


def runs(paragraph: etree._Element) -> Iterator[etree._Element]:
    """Yields the visible runs of a paragraph, without deleted runs and runs of text boxes."""
    for run in paragraph.iter(w("r")):
        above = next(run.iterancestors(w("p"), w("del"), w("moveFrom")), None)
        if above is paragraph:
            yield run


def run_text(run: etree._Element) -> str:
    """Returns the text of a run, with tabs and line breaks."""
    found = []
    for child in run:
        name = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if name in ("t", "delText"):
            found.append(child.text or "")
        else:
            found.append(SIGNS.get(name, ""))
    return "".join(found)


def paragraph_text(paragraph: etree._Element) -> str:
    """Returns the text of a paragraph with all insertions and without deletions."""
    return "".join(run_text(run) for run in runs(paragraph))


def set_text(element: etree._Element, text: str) -> None:
    """Sets the text of a `w:t` and preserves spaces at its ends."""
    element.text = text
    element.set(SPACE, "preserve")


def split_run(run: etree._Element, at: int) -> etree._Element:
    """Splits a run after `at` characters. Returns the new run with the rest, which follows it."""
    tail = etree.Element(run.tag, run.attrib, nsmap=run.nsmap)
    properties = run.find(w("rPr"))
    if properties is not None:
        tail.append(copy.deepcopy(properties))
    for child in list(run):
        if child is properties:
            continue
        name = etree.QName(child).localname
        length = len(child.text or "") if name in ("t", "delText") else len(SIGNS.get(name, ""))
        if at <= 0:
            tail.append(child)
        elif at < length:
            rest = copy.deepcopy(child)
            set_text(rest, (child.text or "")[at:])
            set_text(child, (child.text or "")[:at])
            tail.append(rest)
        at -= length
    run.addnext(tail)
    return tail


def cut(paragraph: etree._Element, start: int, end: int) -> list[etree._Element]:
    """Splits runs at the characters `start` and `end`, and returns the runs between them."""
    inside, at = [], 0
    for run in list(runs(paragraph)):
        length = len(run_text(run))
        first, last = max(start, at), min(end, at + length)
        if first < last:
            meant = split_run(run, first - at) if first > at else run
            if last < at + length:
                split_run(meant, last - first)
            inside.append(meant)
        at += length
    return inside


def place(package: Package, find: str, nth: int = 0) -> tuple[etree._Element, int]:
    """Returns the paragraph and position of a text. It must occur once, unless `nth` selects an occurrence."""
    found = []
    for name in package.texts():
        for paragraph in package.tree(name).iter(w("p")):
            text, at = paragraph_text(paragraph), 0
            while find and (at := text.find(find, at)) >= 0:
                found.append((paragraph, at))
                at += len(find)
    if not found:
        raise Problem(f"no paragraph contains the text {find!r}")
    if nth == 0 and len(found) > 1:
        raise Problem(f"the text {find!r} occurs {len(found)} times: give more of the text, or its number as nth")
    if nth > len(found):
        raise Problem(f"the text {find!r} occurs {len(found)} times: nth {nth} is too high")
    return found[max(nth - 1, 0)]


def highest_id(package: Package) -> int:
    """Returns the highest `w:id` of changes, comments and bookmarks."""
    ids = [0]
    for name in [*package.texts(), "word/comments.xml"]:
        if name in package.parts:
            for element in package.tree(name).iter():
                value = element.get(w("id"), "")
                ids += [int(value)] if value.isdigit() else []
    return max(ids)
