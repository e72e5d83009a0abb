#!/usr/bin/env python3
"""Draws the pages of a document: a PDF, page-1.png …, and sheet.png with all pages side by side.

Reports pages that are nearly empty, with the empty share of each.
"""

import argparse
from pathlib import Path

from office import check_package, contact_sheet, convert, draw, empty_share, run
from word import DOCUMENT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path)
    parser.add_argument("--out", type=Path, default=Path("pages"), help="a folder (pages)")
    parser.add_argument("--dpi", type=int, default=70)
    given = parser.parse_args()
    if given.document.suffix.lower() == ".docx":
        check_package(given.document, DOCUMENT)
    pdf = convert(given.document, "pdf", given.out)
    pages = draw(pdf, given.out, given.dpi)
    contact_sheet(pages, given.out / "sheet.png", 4, 420)
    for number, page in enumerate(pages, 1):
        share = empty_share(page)
        if share > (0.75 if number < len(pages) else 0.85):
            print(f"page {number}: {share:.0%} of it is empty")
    print(f"{given.out}: {len(pages)} pages; look at sheet.png, then at single pages")


if __name__ == "__main__":
    run(main)
