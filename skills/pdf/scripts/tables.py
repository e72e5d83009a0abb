#!/usr/bin/env python3
"""Writes the tables of a PDF as CSV files. Joins the rows of a table that continues on the next pages.

Looks for ruled lines first, and for columns of text on a page without lines. Check the sums: wrapped cells and empty
cells are often wrong.
"""

import argparse
import csv
from pathlib import Path
from typing import Any

import pdfplumber
from paper import Problem, open_pdf, page_range, run

Table = list[list[str]]
BY_TEXT = {"vertical_strategy": "text", "horizontal_strategy": "text", "min_words_vertical": 3}


def clean(raw: list[list[str | None]]) -> Table:
    """Returns cells without line breaks, and without empty rows and columns."""
    rows = [[" ".join((cell or "").split()) for cell in row] for row in raw]
    rows = [row for row in rows if any(row)]
    kept = [at for at in range(max(map(len, rows), default=0)) if any(at < len(row) and row[at] for row in rows)]
    return [[row[at] if at < len(row) else "" for at in kept] for row in rows]


def spans(page: Any) -> list[tuple[float, float, list[float]]]:
    """Returns groups of horizontal rules of the same width: left, right, and their heights."""
    rows: dict[int, list[tuple[float, float]]] = {}
    for edge in page.horizontal_edges:
        rows.setdefault(round(float(edge["top"])), []).append((float(edge["x0"]), float(edge["x1"])))
    groups: dict[tuple[int, int], list[float]] = {}
    for top, parts in sorted(rows.items()):
        parts.sort()
        left, right = parts[0]
        for x0, x1 in parts[1:]:
            right = max(right, x1) if x0 <= right + 3 else right
        if right - left > 60:
            groups.setdefault((round(left / 4), round(right / 4)), []).append(top)
    found: list[tuple[float, float, list[float]]] = []
    for (left, right), tops in groups.items():
        run_of: list[float] = []
        for height in [*tops, float("inf")]:
            # Rules that are far apart do not belong to the same table.
            if run_of and height - run_of[-1] > 72:
                found += [(left * 4 - 3, right * 4 + 3, run_of)] if len(run_of) > 2 else []
                run_of = []
            run_of.append(height)
    return found


def ruled(page: Any) -> list[list[list[str | None]]]:
    """Returns tables with horizontal rules only. Columns are separated where no row has a word."""
    found = []
    for left, right, tops in spans(page):
        heights = [tops[0]]
        heights += [top for at, top in enumerate(tops) if at and top - heights[-1] > 5]
        area = (max(left, 0), max(tops[0] - 1, 0), min(right, float(page.width)), min(tops[-1] + 1, float(page.height)))
        part = page.crop(area)
        words = sorted((float(one["x0"]), float(one["x1"])) for one in part.extract_words(x_tolerance=4))
        cuts, end = [left], words[0][1] if words else right
        for x0, x1 in words[1:]:
            if x0 - end > 4:
                cuts.append((x0 + end) / 2)
            end = max(end, x1)
        if len(cuts) > 1:
            lines = {"vertical_strategy": "explicit", "explicit_vertical_lines": [*cuts, right]}
            lines |= {"horizontal_strategy": "explicit", "explicit_horizontal_lines": heights}
            found += part.extract_tables(lines)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--out", type=Path, default=Path("tables"), help="a folder (tables)")
    parser.add_argument("--pages", help="such as 1,3-5")
    parser.add_argument("--by-text", action="store_true", help="find columns by text even if there are lines")
    given = parser.parse_args()
    pages = page_range(given.pages, len(open_pdf(given.pdf).pages))
    found: list[tuple[int, Table]] = []
    with pdfplumber.open(given.pdf) as plumbed:
        for number in pages:
            page = plumbed.pages[number - 1]
            ways = [] if given.by_text else [page.extract_tables, lambda page=page: ruled(page)]
            for way in [*ways, lambda page=page: page.extract_tables(BY_TEXT)]:
                tables = [one for one in map(clean, way()) if len(one) > 1 and len(one[0]) > 1]
                if tables:
                    break
            for table in tables:
                goes_on = found and found[-1][1][0] == table[0] and number > pages[0]
                if goes_on:
                    found[-1][1].extend(table[1:])
                else:
                    found.append((number, table))
    if not found:
        raise Problem(f"{given.pdf}: no table was found; if it is a scan, run ocr.py; or try --by-text")
    given.out.mkdir(parents=True, exist_ok=True)
    for index, (number, table) in enumerate(found, 1):
        path = given.out / f"table-{index}-page-{number}.csv"
        with path.open("w", newline="", encoding="utf-8") as lines:
            csv.writer(lines).writerows(table)
        print(f"{path}: {len(table) - 1} rows, columns {' | '.join(table[0])[:150]}")
    print(f"{given.pdf}: {len(found)} tables on {len(pages)} pages")


if __name__ == "__main__":
    run(main)
