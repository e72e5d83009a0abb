"""Read-only access to a database, and one-line errors of scripts."""

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True


class Problem(Exception):
    """An error that the caller can correct. Its text is one line."""


def run(main: Callable[[], int | None]) -> None:
    """Runs a script. Prints any error as one line on standard error, and exits with status 1."""
    try:
        sys.exit(main() or 0)
    except Problem as problem:
        message = str(problem)
    except ModuleNotFoundError as error:
        message = f"the Python library {error.name} is not installed"
    except (OSError, sqlite3.Error, MemoryError) as error:
        message = str(error) or "not enough memory"
    print(f"{Path(sys.argv[0]).stem}: {' '.join(message.split())[:500]}", file=sys.stderr)
    sys.exit(1)


def reading(path: Path) -> sqlite3.Connection:
    """Opens a read-only connection."""
    if not path.is_file():
        raise Problem(f"{path}: there is no such file")
    found = sqlite3.connect(
        f"file:{path.resolve().as_posix().replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True
    )
    found.execute("pragma query_only = on")
    try:
        found.execute("select 1 from sqlite_schema")
    except sqlite3.DatabaseError as error:
        raise Problem(f"{path}: it is not a SQLite database ({error})") from None
    return found


def rows(database: sqlite3.Connection, query: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Returns the columns and rows of one select."""
    try:
        cursor = database.execute(query)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise Problem(f"{' '.join(query.split())[:120]}: {error}") from None
    if cursor.description is None:
        raise Problem(f"{' '.join(query.split())[:120]}: it returns no rows; use a select")
    return [one[0] for one in cursor.description], cursor.fetchall()
