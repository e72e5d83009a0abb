#!/usr/bin/env python3
"""Draws the rows of a query as a chart. The first column contains the names or times, each other one is a series.

    query_chart.py work.db "select month, bread, coffee from sales order by month" chart.png \\
        --kind lines --title "Coffee passed bread in June" --subtitle "Euros a month"
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from database import Problem, reading, rows, run

MAX_POINTS = {"lines": 400, "columns": 40, "bars": 30}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("query")
    parser.add_argument("out", type=Path, help="a PNG or SVG")
    parser.add_argument(
        "--kind", choices=sorted(MAX_POINTS), default="columns", help="bars are horizontal, for long names (columns)"
    )
    parser.add_argument("--title", required=True, help="what the chart shows, as a sentence")
    parser.add_argument("--subtitle", default="", help="what is measured, with its unit")
    parser.add_argument("--source", default="")
    parser.add_argument("--number", default="{:,.0f}", help="the format of values ({:,.0f})")
    given = parser.parse_args()
    columns, found = rows(reading(given.database), given.query)
    if len(columns) < 2 or not found:
        raise Problem("the query must return a column of names, one or more of numbers, and at least one row")
    if len(found) > MAX_POINTS[given.kind]:
        raise Problem(
            f"{len(found)} rows are too many for {given.kind} ({MAX_POINTS[given.kind]}): group, or add a limit"
        )
    for n, name in enumerate(columns[1:], 1):
        wrong = [row for row in found if not isinstance(row[n], int | float)]
        if wrong:
            raise Problem(
                f"{name} is {wrong[0][n]!r} at {wrong[0][0]}: each value must be a number; cast, or coalesce(…, 0)"
            )
    if given.kind == "bars" and len(columns) > 2:
        raise Problem("bars show one column of numbers; use columns or lines for several")
    if given.out.suffix.lower() not in (".png", ".svg"):
        raise Problem(f"{given.out}: its name must end in .png or .svg")
    from chart import Chart

    names = [str(row[0]) for row in found]
    series: dict[str, Sequence[float]] = {
        name: [float(str(row[n])) for row in found] for n, name in enumerate(columns[1:], 1)
    }
    chart = Chart(given.title, given.subtitle, given.source)
    if given.kind == "bars":
        chart.bars(names, next(iter(series.values())), number=given.number)
    elif given.kind == "lines":
        chart.lines(names, series, number=given.number)
    else:
        chart.columns(names, series, number=given.number)
    chart.save(given.out)
    print(f"{given.out}: {len(names)} points of {', '.join(series)}")


if __name__ == "__main__":
    run(main)
