#!/usr/bin/env python3
"""Creates an empty document in the house style: a template for python-docx, or pandoc's --reference-doc."""

import argparse
from pathlib import Path

from office import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--paper", choices=["a4", "letter"], default="a4")
    parser.add_argument("--title", default="")
    parser.add_argument("--author", default="")
    parser.add_argument("--language", default="en-GB", help="for the spelling checker, such as de-DE")
    parser.add_argument("--font", default="Calibri")
    parser.add_argument("--accent", default="1F5A7A", help="six hexadecimal digits")
    given = parser.parse_args()
    from house import new_document

    document = new_document(given.title, given.author, given.language, given.paper, given.font, given.accent)
    document.save(str(given.out))
    print(f"{given.out}: an empty document on {given.paper}, {len(document.styles)} styles")


if __name__ == "__main__":
    run(main)
