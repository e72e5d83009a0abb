"""Tracked changes: their creation, their acceptance and their rejection."""

import copy
import difflib
import re
from collections.abc import Collection
from datetime import UTC, datetime

from office import Problem
from lxml import etree
from word import cut, paragraph_text, run_text, runs, set_text, split_run, w

TRACKED = ("ins", "del", "moveFrom", "moveTo")
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


class Marker:
    """A factory for tracked changes of one author."""

    def __init__(self, author: str, first_id: int) -> None:
        self.author = author
        self.date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._id = first_id
        self.made: list[str] = []

    def _element(self, kind: str) -> etree._Element:
        self._id += 1
        self.made.append(str(self._id))
        element = etree.Element(w(kind))
        for name, value in (("id", str(self._id)), ("author", self.author), ("date", self.date)):
            element.set(w(name), value)
        return element

    def replace(self, paragraph: etree._Element, start: int, old: str, new: str) -> None:
        """Replaces `old`, which begins at `start`, word by word. Words that are in both texts do not change."""
        before, after = TOKEN.findall(old), TOKEN.findall(new)
        steps = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        # From the end, so that the positions before a change stay valid.
        for kind, a, b, c, d in reversed(steps):
            if kind != "equal":
                at = start + len("".join(before[:a]))
                self._change(paragraph, at, at + len("".join(before[a:b])), "".join(after[c:d]))

    def _change(self, paragraph: etree._Element, start: int, end: int, new: str) -> None:
        gone = cut(paragraph, start, end)
        anchor = gone[-1] if gone else self._before(paragraph, start)
        properties = None if anchor is None else anchor.find(w("rPr"))
        for run in gone:
            self._delete(run)
        if not new:
            return
        inserted = self._element("ins")
        inserted.append(_run(new, properties))
        if anchor is None:
            _after_properties(paragraph, inserted)
            return
        inner = anchor.getparent() if anchor.getparent().tag == w("del") else anchor
        outer = inner.getparent()
        if outer.tag != w("ins"):
            inner.addnext(inserted)
            return
        # An insertion of another author is split, because insertions cannot contain insertions.
        rest = etree.Element(outer.tag, outer.attrib, nsmap=outer.nsmap)
        for follower in list(inner.itersiblings()):
            rest.append(follower)
        outer.addnext(inserted)
        if len(rest):
            inserted.addnext(rest)

    def _before(self, paragraph: etree._Element, at: int) -> etree._Element | None:
        """Returns the run after which an insertion at a position belongs. Splits the run if it extends beyond it."""
        last, seen = None, 0
        for run in list(runs(paragraph)):
            length = len(run_text(run))
            if seen < at <= seen + length or (at == 0 and length == 0):
                if at - seen < length:
                    split_run(run, at - seen)
                return run
            if seen >= at:
                break
            last, seen = run, seen + length
        return last

    def _delete(self, run: etree._Element) -> None:
        wrapper = self._element("del")
        run.addprevious(wrapper)
        wrapper.append(run)
        for text in run.iter(w("t")):
            text.tag = w("delText")

    def _mark(self, paragraph: etree._Element, kind: str) -> None:
        """Tracks the mark at the end of the paragraph."""
        properties = paragraph.find(w("pPr"))
        if properties is None:
            properties = etree.Element(w("pPr"))
            paragraph.insert(0, properties)
        run = properties.find(w("rPr"))
        if run is None:
            run = etree.Element(w("rPr"))
            behind = [one for one in properties if one.tag in (w("sectPr"), w("pPrChange"))]
            properties.insert(len(properties) - len(behind), run)
        run.insert(0, self._element(kind))

    def insert_paragraph(self, paragraph: etree._Element, text: str, style: str | None) -> None:
        """Inserts a paragraph after another one. Without a style, it has the format of the other paragraph."""
        new = etree.Element(w("p"))
        old = paragraph.find(w("pPr"))
        if style is not None:
            properties = etree.SubElement(new, w("pPr"))
            etree.SubElement(properties, w("pStyle")).set(w("val"), style)
        elif old is not None:
            properties = copy.deepcopy(old)
            for gone in ("sectPr", "pPrChange", "rPr"):
                for element in properties.findall(w(gone)):
                    properties.remove(element)
            new.append(properties)
        self._mark(new, "ins")
        inserted = self._element("ins")
        first = next(runs(paragraph), None)
        inserted.append(_run(text, None if first is None or style else first.find(w("rPr"))))
        new.append(inserted)
        paragraph.addnext(new)

    def delete_paragraph(self, paragraph: etree._Element) -> None:
        """Deletes a paragraph with its mark."""
        if paragraph.getparent().tag == w("tc") and len(paragraph.getparent().findall(w("p"))) == 1:
            raise Problem("the only paragraph of a table cell cannot be deleted: delete its text instead")
        for run in list(runs(paragraph)):
            self._delete(run)
        self._mark(paragraph, "del")


def _run(text: str, properties: etree._Element | None) -> etree._Element:
    run = etree.Element(w("r"))
    if properties is not None:
        run.append(copy.deepcopy(properties))
    for index, line in enumerate(text.split("\n")):
        if index:
            etree.SubElement(run, w("br"))
        if line:
            set_text(etree.SubElement(run, w("t")), line)
    return run


def _after_properties(paragraph: etree._Element, element: etree._Element) -> None:
    properties = paragraph.find(w("pPr"))
    paragraph.insert(0 if properties is None else 1, element)


def resolve(tree: etree._Element, accept: bool, only: Collection[str] | None = None) -> None:
    """Accepts or rejects tracked changes: all of them, or those with the given numbers."""

    def is_meant(element: etree._Element) -> bool:
        return only is None or element.get(w("id")) in only

    kept, gone = ("ins", "moveTo"), ("del", "moveFrom")
    if not accept:
        kept, gone = gone, kept
    for element in [one for one in tree.iter() if isinstance(one.tag, str)]:
        name = etree.QName(element).localname
        parent = element.getparent()
        if parent is None or not is_meant(element):
            continue
        if name.endswith("Change"):
            _resolve_format(parent, element, accept)
        elif name in TRACKED and parent.tag in (w("rPr"), w("trPr")):
            _resolve_mark(parent, element, name in gone)
        elif name in gone:
            parent.remove(element)
        elif name in kept:
            for child in list(element):
                element.addprevious(child)
            parent.remove(element)
    for text in list(tree.iter(w("delText"))):
        if next(text.iterancestors(w("del"), w("moveFrom")), None) is None:
            text.tag = w("t")


def _resolve_mark(parent: etree._Element, mark: etree._Element, is_gone: bool) -> None:
    """Resolves a tracked paragraph mark or table row."""
    if parent.tag == w("rPr"):
        paragraph = next(parent.iterancestors(w("p")), None)
        parent.remove(mark)
        if is_gone and paragraph is not None:
            _join_next(paragraph)
        return
    row = parent.getparent()
    parent.remove(mark)
    if is_gone:
        row.getparent().remove(row)


def _resolve_format(parent: etree._Element, change: etree._Element, accept: bool) -> None:
    """Resolves a tracked format change, which contains the previous properties."""
    if accept or not len(change):
        parent.remove(change)
        return
    old = list(change[0])
    mark = [one for one in parent if one.tag == w("rPr")] if parent.tag == w("pPr") else []
    for child in list(parent):
        parent.remove(child)
    for child in old + mark:
        parent.append(child)


def _join_next(paragraph: etree._Element) -> None:
    """Moves the content of a paragraph whose mark was deleted to the start of the next paragraph."""
    following = paragraph.getnext()
    content = [child for child in paragraph if child.tag != w("pPr")]
    if following is None or following.tag != w("p"):
        if not paragraph_text(paragraph):
            paragraph.getparent().remove(paragraph)
        return
    at = 0 if following.find(w("pPr")) is None else 1
    for child in reversed(content):
        following.insert(at, child)
    paragraph.getparent().remove(paragraph)


def canonical(tree: etree._Element) -> bytes:
    """Returns a canonical form of a text. Runs with the same format are joined, so that split runs do not differ."""
    tree = copy.deepcopy(tree)
    _join_cut(tree)
    for element in tree.iter():
        for name in [one for one in element.attrib if etree.QName(one).localname.startswith("rsid")]:
            del element.attrib[name]
        element.attrib.pop("{http://www.w3.org/XML/1998/namespace}space", None)
    for empty in [one for one in tree.iter(w("rPr"), w("pPr"), w("trPr")) if not len(one)]:
        empty.getparent().remove(empty)
    for empty in [one for one in tree.iter(w("pPr")) if not len(one)]:
        empty.getparent().remove(empty)
    for run in list(tree.iter(w("r"))):
        previous = run.getprevious()
        if all(child.tag == w("rPr") for child in run):
            run.getparent().remove(run)
        elif previous is not None and previous.tag == w("r") and _look(previous) == _look(run):
            for child in [one for one in run if one.tag != w("rPr")]:
                last = previous[-1]
                if child.tag == last.tag == w("t"):
                    last.text = (last.text or "") + (child.text or "")
                else:
                    previous.append(child)
            run.getparent().remove(run)
    return etree.tostring(tree, method="c14n")


def _join_cut(tree: etree._Element) -> None:
    """Joins the parts of a tracked change that another change has split."""
    for change in list(tree.iter(*(w(one) for one in TRACKED))):
        previous = change.getprevious()
        if previous is not None and previous.tag == change.tag and dict(previous.attrib) == dict(change.attrib):
            for child in list(change):
                previous.append(child)
            change.getparent().remove(change)


def _look(run: etree._Element) -> bytes:
    properties = run.find(w("rPr"))
    return b"" if properties is None else etree.tostring(properties, method="c14n")
