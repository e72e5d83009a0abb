#!/usr/bin/env python3
"""Fills in the figures of a text: each {{select …}} is replaced by the value of that query.

    Sales rose to {{select printf('%,d', sum(amount)) from sales}} euros.

Each query returns one value. A select with several rows becomes a Markdown table. {{…}} may span lines.
"""

import argparse
import re
import sqlite3
from pathlib import Path

from database import Problem, reading, rows, run

MAX_ROWS = 500


def shown(value: object) -> str:
    """Returns a value as text for readers, without floating-point noise."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return (
            f"{value:.15g}"
            if abs(value) >= 1e15
            else f"{round(value, 6):,.6f}".rstrip("0").rstrip(".").replace(",", "")
        )
    return " ".join(str(value).split())


def table(columns: list[str], found: list[tuple[object, ...]]) -> str:
    """Returns a Markdown table, with numbers right-aligned."""
    numeric = [all(isinstance(row[n], int | float | None) for row in found) for n in range(len(columns))]
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join("---:" if one else "---" for one in numeric) + "|"]
    lines += ["| " + " | ".join(shown(one).replace("|", "\\|") for one in row) + " |" for row in found]
    return "\n".join(lines)


def value(database: sqlite3.Connection, query: str) -> str:
    columns, found = rows(database, query)
    if not found:
        raise Problem(f"{' '.join(query.split())[:120]}: it has no rows")
    if len(found) == 1 and len(columns) == 1:
        return shown(found[0][0])
    if len(found) > MAX_ROWS:
        raise Problem(f"{' '.join(query.split())[:120]}: {len(found)} rows; add a limit, or deliver them as a file")
    return table(columns, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("text", type=Path, help="a text with {{select …}}")
    parser.add_argument("out", type=Path, nargs="?", help="a file; without it the text is printed")
    given = parser.parse_args()
    database = reading(given.database)
    if not given.text.is_file():
        raise Problem(f"{given.text}: there is no such file")
    text = given.text.read_text(encoding="utf-8")
    done, count = re.subn(r"\{\{(.+?)\}\}", lambda found: value(database, found[1].strip()), text, flags=re.DOTALL)
    if not count:
        raise Problem(f"{given.text}: it has no {{{{select …}}}}")
    if given.out is None:
        print(done.rstrip("\n"))
    else:
        given.out.write_text(done, encoding="utf-8")
        print(f"{given.out}: {count} queries filled in")


if __name__ == "__main__":
    run(main)
