#!/usr/bin/env python3
"""Tracked changes: creates them, checks that nothing else has changed, lists, accepts and rejects them.

CHANGES.json is a list of objects, which are applied in order:
  {"find": "30 days", "replace": "45 days"}          only the words that differ are marked
  {"find": "30 days", "replace": "45 days", "nth": 2}  the second occurrence; "nth": "all" for every occurrence
  {"insert_after": "a text of the paragraph", "text": "A new paragraph", "style": "Heading2"}   style is optional
  {"delete_paragraph": "a text of the paragraph"}
"""

import argparse
import copy
from pathlib import Path
from typing import Any

from office import Problem, read_json, run
from changes import TRACKED, Marker, canonical, resolve
from word import Package, highest_id, paragraph_text, place, w

ENDINGS = ("Change", *(f"}}{one}" for one in TRACKED))


def tracked_ids(package: Package) -> set[str]:
    """Returns the numbers of all tracked changes."""
    found = set()
    for name in package.texts():
        for element in package.tree(name).iter():
            if isinstance(element.tag, str) and element.tag.endswith(ENDINGS) and element.get(w("id")) is not None:
                found.add(str(element.get(w("id"))))
    return found


def check_only_tracked(original: Package, changed: Package) -> int:
    """Fails unless rejecting the new changes results in the original. Returns the number of new changes."""
    new = tracked_ids(changed) - tracked_ids(original)
    texts = set(original.texts())
    if texts != set(changed.texts()):
        raise Problem(f"parts differ: {', '.join(sorted(texts ^ set(changed.texts())))}")
    for name in original.texts():
        rejected = copy.deepcopy(changed.tree(name))
        resolve(rejected, accept=False, only=new)
        if canonical(rejected) != canonical(original.tree(name)):
            before = [paragraph_text(one) for one in original.tree(name).iter(w("p"))]
            after = [paragraph_text(one) for one in rejected.iter(w("p"))]
            pairs = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
            where = f"{pairs[0][0][:60]!r} became {pairs[0][1][:60]!r}" if pairs else "formats or structure"
            raise Problem(f"{name} has changes that are not tracked: {where}")
    return len(new)


def apply(package: Package, changes: Any, author: str) -> Marker:
    """Applies the changes and checks the text of each paragraph."""
    if not isinstance(changes, list) or not all(isinstance(one, dict) for one in changes) or not changes:
        raise Problem("the changes must be a list of objects")
    marker = Marker(author, highest_id(package))
    for change in changes:
        if "find" in change and "replace" in change:
            replace(package, marker, str(change["find"]), str(change["replace"]), change.get("nth", 0))
        elif "insert_after" in change and "text" in change:
            paragraph, _ = place(package, str(change["insert_after"]), int(change.get("nth", 0)))
            marker.insert_paragraph(paragraph, str(change["text"]), change.get("style"))
        elif "delete_paragraph" in change:
            paragraph, _ = place(package, str(change["delete_paragraph"]), int(change.get("nth", 0)))
            marker.delete_paragraph(paragraph)
        else:
            keys = ", ".join(sorted(map(str, change)))
            raise Problem(f"a change has the keys {keys}: see --help for the valid keys")
    return marker


def replace(package: Package, marker: Marker, find: str, new: str, nth: int | str) -> None:
    """Replaces one occurrence of a text, or all. `nth` 0 requires that there is only one."""
    if nth == "all":
        count = 0
        for name in package.texts():
            for paragraph in list(package.tree(name).iter(w("p"))):
                text, at = paragraph_text(paragraph), -1
                starts = []
                while find and (at := text.find(find, at + 1 if at < 0 else at + len(find))) >= 0:
                    starts.append(at)
                for start in reversed(starts):
                    replace_at(marker, paragraph, start, find, new)
                count += len(starts)
        if count == 0:
            raise Problem(f"no paragraph contains the text {find!r}")
        return
    paragraph, start = place(package, find, int(nth))
    replace_at(marker, paragraph, start, find, new)


def replace_at(marker: Marker, paragraph: Any, start: int, find: str, new: str) -> None:
    """Replaces a text at a position, and checks the resulting text of the paragraph."""
    text = paragraph_text(paragraph)
    wanted = text[:start] + new + text[start + len(find) :]
    marker.replace(paragraph, start, find, new)
    if paragraph_text(paragraph) != wanted:
        raise Problem(f"{find!r} cannot be replaced as a tracked change: it contains a field or picture")


def list_changes(package: Package) -> int:
    """Prints each tracked change with its author."""
    count = 0
    for name in package.texts():
        for element in package.tree(name).iter(*(w(one) for one in TRACKED)):
            text = "".join(one.text or "" for one in element.iter(w("t"), w("delText")))
            shown = text if len(element) else "(paragraph mark)"
            print(f"{element.tag.split('}')[1]}\t{element.get(w('author'))}\t{shown}")
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    one = tasks.add_parser("apply", help="make tracked changes")
    one.add_argument("document", type=Path)
    one.add_argument("changes", help="a JSON file, or - for standard input")
    one.add_argument("out", type=Path)
    one.add_argument("--author", required=True)
    one = tasks.add_parser("check", help="check that a document differs from its original by tracked changes only")
    one.add_argument("original", type=Path)
    one.add_argument("document", type=Path)
    for task in ("accept", "reject"):
        one = tasks.add_parser(task, help=f"{task} all tracked changes")
        one.add_argument("document", type=Path)
        one.add_argument("out", type=Path)
    one = tasks.add_parser("list", help="list tracked changes")
    one.add_argument("document", type=Path)
    given = parser.parse_args()
    package = Package(given.document)
    if given.task == "apply":
        marker = apply(package, read_json(given.changes), given.author)
        package.save(given.out)
        try:
            count = check_only_tracked(Package(given.document), Package(given.out))
        except Problem:
            given.out.unlink()
            raise
        print(f"{given.out}: {count} tracked changes by {marker.author}; rejecting them restores {given.document}")
    elif given.task == "check":
        count = check_only_tracked(Package(given.original), package)
        print(f"{given.document}: {count} new tracked changes; rejecting them restores {given.original}")
    elif given.task == "list":
        print(f"{given.document}: {list_changes(package)} tracked changes")
    else:
        count = len(tracked_ids(package))
        for name in package.texts():
            resolve(package.tree(name), accept=given.task == "accept")
        package.save(given.out)
        print(f"{given.out}: {count} tracked changes {given.task}ed")


if __name__ == "__main__":
    run(main)
