#!/usr/bin/env python3
"""Copies, reorders and removes slides: `copy_slide.py in.pptx out.pptx 1,2,2,5` creates a deck of these slides.

A repeated number is an independent copy, with its charts and their data, pictures, tables and notes.
"""

import argparse
import copy
import re
from pathlib import Path
from typing import Any

from office import Problem, check_package, run
from pptx import Presentation
from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.opc.package import Part, _Relationship
from pptx.opc.packuri import PackURI
from pptx.oxml.ns import qn
from pptx.presentation import Presentation as PresentationType
from pptx.slide import Slide

# Types of parts that slides may share.
SHARED = ("image", "slideLayout", "slideMaster", "theme", "media", "video", "audio", "hyperlink", "tags")
RELATION = re.compile(r"\{http://schemas\.openxmlformats\.org/officeDocument/2006/relationships\}")


def clone_part(part: Part) -> Part:
    """Copies a part, together with the parts that it refers to."""
    pattern = re.sub(r"\d*(\.[^.]*)$", r"%d\1", str(part.partname))
    name = PackURI(str(part.package.next_partname(pattern)))
    twin = type(part).load(name, part.content_type, part.package, part.blob)
    for key, relation in part.rels.items():
        mode = "External" if relation.is_external else "Internal"
        target: Any = relation._target
        if not relation.is_external and not relation.reltype.endswith(SHARED):
            target = clone_part(relation.target_part)
        twin.rels._rels[key] = _Relationship(twin.rels._base_uri, key, relation.reltype, mode, target)
    return twin


def copy_slide(prs: PresentationType, source: Slide) -> Slide:
    """Copies a slide to the end of the deck."""
    twin = prs.slides.add_slide(source.slide_layout)
    keys = {}
    for key, relation in source.part.rels.items():
        if relation.reltype in (RELATIONSHIP_TYPE.SLIDE_LAYOUT, RELATIONSHIP_TYPE.NOTES_SLIDE):
            continue
        if relation.reltype.endswith(("/comments", "/tags")):
            continue
        if relation.is_external:
            keys[key] = twin.part.relate_to(relation.target_ref, relation.reltype, is_external=True)
        else:
            shares = relation.reltype.endswith(SHARED) or relation.reltype == RELATIONSHIP_TYPE.SLIDE
            part = relation.target_part if shares else clone_part(relation.target_part)
            # A part that the slide shows twice needs two relationships.
            keys[key] = twin.part.rels._add_relationship(relation.reltype, part)
    for child in list(twin._element):
        twin._element.remove(child)
    for child in source._element:
        twin._element.append(copy.deepcopy(child))
    for element in twin._element.iter():
        for name, value in element.attrib.items():
            if RELATION.match(name) and value in keys:
                element.set(name, keys[value])
    if source.has_notes_slide and source.notes_slide.notes_text_frame is not None:
        twin.notes_slide.notes_text_frame.text = source.notes_slide.notes_text_frame.text
    return twin


def arrange(prs: PresentationType, order: list[int]) -> None:
    """Reduces the deck to the slides with these numbers, in this order."""
    slides, listed = list(prs.slides), prs.slides._sldIdLst
    entries = list(listed)
    wanted, used = [], set()
    for number in order:
        if not 1 <= number <= len(slides):
            raise Problem(f"there is no slide {number}: the deck has {len(slides)}")
        if number in used:
            copy_slide(prs, slides[number - 1])
            wanted.append(listed[-1])
        else:
            wanted.append(entries[number - 1])
        used.add(number)
    for entry in list(listed):
        listed.remove(entry)
        if entry not in wanted:
            prs.part.drop_rel(entry.rId)
    for entry in wanted:
        listed.append(entry)
    # Sections refer to slides by number, so they would become invalid.
    for extension in prs.part._element.iter(qn("p:ext")):
        if extension.get("uri") == "{521415D9-36F7-43E2-AB2F-B90AF26B5E84}":
            extension.getparent().remove(extension)
            break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("deck", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("slides", help="numbers with commas, and ranges: 1-3,3,7")
    given = parser.parse_args()
    check_package(given.deck, "ppt/presentation.xml")
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", given.slides):
        raise Problem(f"{given.slides!r} is not a list of slides such as 1-3,3,7")
    order: list[int] = []
    for one in given.slides.split(","):
        first, _, last = one.partition("-")
        order += range(int(first), int(last or first) + 1)
    prs = Presentation(str(given.deck))
    arrange(prs, order)
    prs.save(str(given.out))
    again = Presentation(str(given.out))
    print(f"{given.out}: {len(again.slides)} slides")


if __name__ == "__main__":
    run(main)
