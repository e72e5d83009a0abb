#!/usr/bin/env python3
"""Loads CSV files into a new database, one table per file. Each column has the type that fits all of its values.

The types are whole numbers, decimals (1,234.50 and 1.234,50, with % or a currency sign), dates (stored as ISO) and
texts. Numbers with leading zeros, such as postal codes, stay texts. Empty fields and NULL become NULL. In columns of
numbers and dates, n/a and - also become NULL. Ambiguous columns stay text, with a warning that names the option to use.
"""

import argparse
import csv
import io
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from database import Problem, run

NOTHING = {"", "null", "\\n"}
UNKNOWN = NOTHING | {"n/a", "na", "-", "–", "—", "none", "nan", "#n/a"}
SIGNS = re.compile(r"^[€$£¥]\s*|\s*(?:[€$£¥%]|EUR|USD|GBP|CHF)$")
WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
# Integers and reals of SQLite cannot store more digits.
MOST_DIGITS = 18
POINT = re.compile(r"[-+]?(?:0|[1-9]\d{0,2}(?:[,' \u00a0\u202f]\d{3})+|[1-9]\d*)?(?:\.\d+)?(?:[eE][-+]?\d+)?")
COMMA = re.compile(r"[-+]?(?:0|[1-9]\d{0,2}(?:[.' \u00a0\u202f]\d{3})+|[1-9]\d*)?(?:,\d+)?")
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")
DATES = {
    "iso": ("%Y-%m-%d", "%Y/%m/%d"),
    "dmy": ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y"),
    "mdy": ("%m/%d/%Y", "%m-%d-%Y"),
}


@dataclass
class Column:
    """The type of a column, the conversion of its texts, and notes for the reader."""

    kind: str
    value: Callable[[str], object]
    note: str = ""
    warning: str = ""


def plain(text: str) -> str:
    return SIGNS.sub("", text.replace("−", "-").strip()).strip()


def number(text: str, decimal: str) -> float:
    for sign in {",", ".", "'", " ", "\u00a0", "\u202f"} - {decimal}:
        text = text.replace(sign, "")
    return float(text.replace(decimal, "."))


def numbers(values: list[str], decimal: str | None) -> Column | None:
    """Returns a column of numbers if all values are written in the same way."""
    found = [plain(one) for one in values]
    if not all(any(letter.isdigit() for letter in one) for one in found):
        return None
    signs = {sign.group().strip() for one in values if (sign := SIGNS.search(one.strip()))}
    note = f" ({' '.join(sorted(signs))} removed)" if signs else ""
    if all(WHOLE.fullmatch(one) for one in found):
        return Column("integer", lambda text: int(plain(text)), note.strip())
    ways = {".": all(POINT.fullmatch(one) for one in found), ",": all(COMMA.fullmatch(one) for one in found)}
    if decimal:
        ways = {decimal: ways[decimal]}
    fitting = [sign for sign, fits in ways.items() if fits]
    if not fitting:
        return None
    sample = next((one for one in found if re.search(r"[.,]", one)), None)
    if len(fitting) > 1 and sample:
        return Column("text", str, warning=f"{sample} can be a decimal or thousands: --decimal . or --decimal ,")
    decided = fitting[0]
    if all(number(one, decided).is_integer() and not re.search(rf"[{decided}eE]", one) for one in found):
        return Column("integer", lambda text: int(number(plain(text), decided)), f"thousands separators removed{note}")
    return Column("real", lambda text: number(plain(text), decided), f"decimal sign {decided}{note}")


def iso(text: str, formats: tuple[str, ...]) -> str | None:
    """Returns a date in ISO 8601, the format of SQLite's functions."""
    for form in formats:
        for time in TIMES:
            try:
                found = datetime.strptime(text.strip().removesuffix("Z"), form + time)
            except ValueError:
                continue
            return found.strftime("%Y-%m-%d %H:%M:%S" if time else "%Y-%m-%d")
    return None


def dates(values: list[str], order: str | None) -> Column | None:
    """Returns a column of dates if all values are written in the same order."""
    if not all(re.match(r"\d{1,4}[-./]\d{1,2}[-./]\d", one.strip()) for one in values):
        return None
    orders = [order, "iso"] if order else list(DATES)
    fitting = [one for one in orders if all(iso(text, DATES[one]) for text in values)]
    if not fitting:
        return None
    same = [[iso(text, DATES[one]) for text in values] for one in fitting]
    if len(fitting) > 1 and same[0] != same[1]:
        return Column("text", str, warning=f"{values[0]} can be two dates: --dates dmy or --dates mdy")
    formats = DATES[fitting[0]]
    return Column("text", lambda text: iso(text, formats), f"dates, {fitting[0]}")


def column(values: list[str], decimal: str | None, order: str | None) -> Column:
    """Returns the type that fits all values."""
    typed = [one for one in values if one.strip().lower() not in UNKNOWN]
    if not typed:
        return Column("text", str, "empty")
    if any(re.fullmatch(r"[-+]?0\d+", one.strip()) for one in typed):
        return Column("text", str, "leading zeros kept")
    if any(re.fullmatch(rf"[-+]?\d{{{MOST_DIGITS + 1},}}", one.strip()) for one in typed):
        return Column("text", str, f"kept as text: more than {MOST_DIGITS} digits")
    found = dates(typed, order) or numbers(typed, decimal)
    return found or Column("text", str)


def read(path: Path, delimiter: str | None) -> tuple[list[str], list[list[str]]]:
    """Reads the header and the rows of a file."""
    if not path.is_file():
        raise Problem(f"{path}: there is no such file")
    content = path.read_bytes()
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
        print(f"warning: {path}: it is not UTF-8 and was read as Windows-1252")
    if "\0" in text:
        raise Problem(f"{path}: it is not a text file")
    if delimiter is None:
        first = text.split("\n", 1)[0]
        delimiter = max(",;\t|", key=first.count)
    csv.field_size_limit(10_000_000)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found: list[list[str]] = []
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                if found and len(row) != len(found[0]):
                    raise Problem(f"{path}: line {reader.line_num} has {len(row)} fields, the header {len(found[0])}")
                found.append(row)
    except csv.Error as error:
        raise Problem(f"{path}: line {reader.line_num}: {error}") from None
    if not found:
        raise Problem(f"{path}: it is empty")
    return found[0], found[1:]


def names(header: list[str]) -> list[str]:
    """Returns unique names, regardless of case."""
    found: list[str] = []
    for place, one in enumerate(header, 1):
        name = base = " ".join(one.split()) or f"column_{place}"
        count = 1
        while name.lower() in {other.lower() for other in found}:
            count += 1
            name = f"{base}_{count}"
        found.append(name)
    return found


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def columns_of(lines: list[list[str]], count: int, given: argparse.Namespace) -> list[Column]:
    """Returns the types of all columns. The decimal sign of the other columns decides ambiguous ones."""
    values = [[row[n] for row in lines] for n in range(count)]
    kinds = [column(one, given.decimal, given.dates) for one in values]
    signs = {sign for sign in (".", ",") for one in kinds if one.note.startswith(f"decimal sign {sign}")}
    if len(signs) == 1:
        [sign] = signs
        kinds = [
            column(one, sign, given.dates) if "--decimal" in kind.warning else kind
            for one, kind in zip(values, kinds, strict=True)
        ]
    return kinds


def load(database: sqlite3.Connection, path: Path, given: argparse.Namespace) -> None:
    """Creates a table from a file, and prints its columns."""
    header, lines = read(path, given.delimiter)
    table = re.sub(r"\W+", "_", path.stem).strip("_").lower() or "data"
    columns = names(header)
    kinds = columns_of(lines, len(columns), given)
    shown = ", ".join(f"{quoted(name)} {kind.kind}" for name, kind in zip(columns, kinds, strict=True))
    database.execute(f"create table {quoted(table)} ({shown}) strict")

    def value(text: str, kind: Column) -> object:
        absent = NOTHING if kind.kind == "text" and not kind.note.startswith("dates") else UNKNOWN
        return None if text.strip().lower() in absent else kind.value(text)

    holes = ", ".join("?" * len(columns))
    values = ([value(text, kind) for text, kind in zip(row, kinds, strict=True)] for row in lines)
    database.executemany(f"insert into {quoted(table)} values ({holes})", values)
    print(f"{quoted(table)}: {len(lines)} rows of {path}")
    for name, kind in zip(columns, kinds, strict=True):
        count = f"select count(*) - count({quoted(name)}) from {quoted(table)}"
        empty = database.execute(count).fetchone()[0]
        extra = "; ".join(one for one in (kind.note, f"{empty} NULL" if empty else "") if one)
        print(f"  {quoted(name)} {kind.kind}{f' ({extra})' if extra else ''}")
        if kind.warning:
            print(f"warning: {table}.{name} stays text: {kind.warning}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, help="a new file, such as work.db")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--decimal", choices=[".", ","], help="the decimal sign of ambiguous columns")
    parser.add_argument("--dates", choices=["dmy", "mdy"], help="the order of ambiguous dates")
    parser.add_argument("--delimiter", help="if it is not , ; | or tab")
    given = parser.parse_args()
    if given.database.exists():
        raise Problem(f"{given.database}: it exists already; use a new name")
    database = sqlite3.connect(given.database, isolation_level=None)
    try:
        database.execute("begin")
        for path in given.files:
            load(database, path, given)
        database.execute("commit")
    except BaseException:
        database.close()
        given.database.unlink(missing_ok=True)
        raise
    database.close()


if __name__ == "__main__":
    run(main)
