"""Prints the characters of a PDF that were drawn as empty boxes, or not at all."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    path = json.load(file)["path"]
with pikepdf.open(path) as pdf:
    found = [one for font in used_fonts(pdf) for one in lost_characters(font) + blank_characters(font)]
    found += [f"characters of a chart on page {number}" for number in pages_with_boxes(pdf)]
if found:
    print("\n".join(list(dict.fromkeys(found))[:20]))
