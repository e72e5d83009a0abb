#!/usr/bin/env python3
"""Comments: adds them to words, replies to them, and lists them. The text of the document does not change.

COMMENTS.json is a list of objects:
  {"find": "30 days", "text": "Is this agreed?"}      "nth": 2 selects the second occurrence
  {"reply_to": "0", "text": "Yes, since May."}        the number as printed by `list`
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from office import Problem, read_json, run
from changes import canonical
from lxml import etree
from word import OFFICE_RELATIONS, W14, Package, cut, paragraph_text, place, set_text, w

W15 = "http://schemas.microsoft.com/office/word/2012/wordml"
COMMENTS = "word/comments.xml"
EXTENDED = "word/commentsExtended.xml"
TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
EXTENDED_RELATION = "http://schemas.microsoft.com/office/2011/relationships/commentsExtended"


def comment_parts(package: Package) -> tuple[etree._Element, etree._Element]:
    """Returns the comments and their threads. Adds both parts if they are missing."""
    if COMMENTS not in package.parts:
        tree = etree.Element(w("comments"), nsmap={"w": w("")[1:-1], "w14": W14})
        package.add(COMMENTS, tree, f"{TYPE}.comments+xml", f"{OFFICE_RELATIONS}/comments")
    if EXTENDED not in package.parts:
        tree = etree.Element(f"{{{W15}}}commentsEx", nsmap={"w15": W15})
        package.add(EXTENDED, tree, f"{TYPE}.commentsExtended+xml", EXTENDED_RELATION)
    return package.tree(COMMENTS), package.tree(EXTENDED)


def thread_id(comment: etree._Element, number: int) -> str:
    """Returns the id of a comment's last paragraph, which replies refer to."""
    paragraph = comment.findall(w("p"))[-1]
    name = f"{{{W14}}}paraId"
    if paragraph.get(name) is None:
        paragraph.set(name, f"{0x10000000 + number:08X}")
    return str(paragraph.get(name))


def add(package: Package, wanted: Any, author: str) -> int:
    """Adds comments and replies."""
    if not isinstance(wanted, list) or not wanted or not all(isinstance(one, dict) for one in wanted):
        raise Problem("the comments must be a list of objects")
    comments, threads = comment_parts(package)
    for one in wanted:
        text = str(one.get("text", ""))
        if not text or ("find" in one) == ("reply_to" in one):
            raise Problem("a comment needs text, and either find or reply_to")
        number = 1 + max([int(old.get(w("id"), "0")) for old in comments], default=-1)
        comment = new_comment(comments, number, text, author)
        entry = etree.SubElement(threads, f"{{{W15}}}commentEx")
        entry.set(f"{{{W15}}}paraId", thread_id(comment, number))
        if "find" in one:
            find = str(one["find"])
            paragraph, start = place(package, find, int(one.get("nth", 0)))
            if paragraph.getroottree().getroot().tag != w("document"):
                raise Problem(f"{find!r} is in a header, footer or note, which cannot have comments")
            inside = cut(paragraph, start, start + len(find))
            anchor(inside[0], inside[-1], number)
        else:
            parent = next((old for old in comments if old.get(w("id")) == str(one["reply_to"])), None)
            if parent is None:
                raise Problem(f"there is no comment {one['reply_to']}")
            answer(package, threads, entry, parent, number)
        entry.set(f"{{{W15}}}done", "0")
    return len(wanted)


def new_comment(comments: etree._Element, number: int, text: str, author: str) -> etree._Element:
    """Adds a comment with its text."""
    comment = etree.SubElement(comments, w("comment"))
    initials = "".join(part[0] for part in author.split())[:3].upper()
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name, value in (("id", str(number)), ("author", author), ("date", date), ("initials", initials)):
        comment.set(w(name), value)
    for line in text.split("\n"):
        paragraph = etree.SubElement(comment, w("p"))
        set_text(etree.SubElement(etree.SubElement(paragraph, w("r")), w("t")), line)
    return comment


def anchor(first: etree._Element, last: etree._Element, number: int) -> None:
    """Marks the runs that a comment refers to."""
    marks = {name: etree.Element(w(name)) for name in ("commentRangeStart", "commentRangeEnd")}
    for mark in marks.values():
        mark.set(w("id"), str(number))
    reference = etree.Element(w("r"))
    etree.SubElement(reference, w("commentReference")).set(w("id"), str(number))
    outside = [
        one if one.getparent().tag not in (w("ins"), w("hyperlink")) else one.getparent() for one in (first, last)
    ]
    outside[0].addprevious(marks["commentRangeStart"])
    outside[1].addnext(reference)
    outside[1].addnext(marks["commentRangeEnd"])


def answer(package: Package, threads: Any, entry: Any, parent: Any, number: int) -> None:
    """Connects a reply to its comment: the same position, and a thread."""
    parent_thread = thread_id(parent, int(parent.get(w("id"))))
    if not any(one.get(f"{{{W15}}}paraId") == parent_thread for one in threads):
        first = etree.Element(f"{{{W15}}}commentEx")
        first.set(f"{{{W15}}}paraId", parent_thread)
        first.set(f"{{{W15}}}done", "0")
        entry.addprevious(first)
    entry.set(f"{{{W15}}}paraIdParent", parent_thread)
    tree = package.tree()
    for name in ("commentRangeStart", "commentRangeEnd", "commentReference"):
        found = next((one for one in tree.iter(w(name)) if one.get(w("id")) == parent.get(w("id"))), None)
        if found is None:
            raise Problem(f"the comment {parent.get(w('id'))} has no anchor in the text")
        twin = etree.Element(w(name))
        twin.set(w("id"), str(number))
        if name == "commentReference":
            twin_run = etree.Element(w("r"))
            twin_run.append(twin)
            found.getparent().addnext(twin_run)
        else:
            found.addnext(twin)


def without_comments(package: Package) -> bytes:
    """Returns the body without the anchors of comments, for comparison."""
    tree = etree.fromstring(etree.tostring(package.tree()))
    for name in ("commentRangeStart", "commentRangeEnd", "commentReference"):
        for mark in list(tree.iter(w(name))):
            mark.getparent().remove(mark)
    return canonical(tree)


def listed(package: Package) -> int:
    """Prints each comment with the words that it refers to."""
    if COMMENTS not in package.parts:
        return 0
    for comment in package.tree(COMMENTS):
        text = " / ".join(paragraph_text(one) for one in comment.iter(w("p")))
        about, inside = [], False
        for element in package.tree().iter():
            if element.get(w("id")) == comment.get(w("id")):
                inside = element.tag == w("commentRangeStart") or (inside and element.tag != w("commentRangeEnd"))
            elif inside and element.tag == w("t"):
                about.append(element.text or "")
        print(f"{comment.get(w('id'))}\t{comment.get(w('author'))}\t{''.join(about)!r}\t{text}")
    return len(package.tree(COMMENTS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    one = tasks.add_parser("list", help="list the comments")
    one.add_argument("document", type=Path)
    one = tasks.add_parser("add", help="add comments and replies")
    one.add_argument("document", type=Path)
    one.add_argument("comments", help="a JSON file, or - for standard input")
    one.add_argument("out", type=Path)
    one.add_argument("--author", required=True)
    given = parser.parse_args()
    package = Package(given.document)
    if given.task == "list":
        print(f"{given.document}: {listed(package)} comments")
        return
    count = add(package, read_json(given.comments), given.author)
    package.save(given.out)
    if without_comments(Package(given.out)) != without_comments(Package(given.document)):
        raise Problem(f"{given.out}: the text has changed; this is a bug of this script, do not use the file")
    print(f"{given.out}: {count} comments added; the text is unchanged")


if __name__ == "__main__":
    run(main)
