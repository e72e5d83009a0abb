"""PDF files as untrusted input, programs, and fonts."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

sys.dont_write_bytecode = True

if TYPE_CHECKING:
    import pikepdf

# The first font that has a letter draws it. All are TrueType fonts whose outlines reportlab can embed.
FONTS = ("Liberation Sans", "DejaVu Sans", "Noto Sans", "Noto Sans Devanagari", "Noto Sans Thai", "Droid Sans Fallback")


def _one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Reports a missing library in one line, without a traceback."""
    if isinstance(error, ModuleNotFoundError):
        print(f"{Path(sys.argv[0]).stem}: the Python library {error.name} is not installed", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _one_line


class Problem(Exception):
    """An error that the caller can correct. Its text is one line."""


def run(main: Callable[[], int | None]) -> None:
    """Runs a script. Prints any error as one line on standard error, and exits with status 1."""
    tool = Path(sys.argv[0]).stem
    try:
        sys.exit(main() or 0)
    except Problem as problem:
        message = str(problem)
    except subprocess.TimeoutExpired as error:
        message = f"{error.cmd[0]} needs more than {error.timeout:.0f} seconds"
    except MemoryError:
        message = "not enough memory for this file"
    except Exception as error:
        message = f"the file cannot be processed ({type(error).__name__}: {error})"
    print(f"{tool}: {' '.join(message.split())[:500]}", file=sys.stderr)
    sys.exit(1)


def open_pdf(path: Path) -> "pikepdf.Pdf":
    """Opens a PDF. Fails if it has no pages or a password."""
    import pikepdf

    if not path.is_file():
        raise Problem(f"{path}: there is no such file")
    try:
        pdf = pikepdf.open(path)
    except pikepdf.PasswordError:
        raise Problem(f"{path}: it is encrypted; open it first: qpdf --password=… --decrypt IN OUT") from None
    except pikepdf.PdfError as error:
        raise Problem(f"{path}: it is not a readable PDF ({error})") from None
    if len(pdf.pages) == 0:
        raise Problem(f"{path}: it has no pages")
    return pdf


def read_json(path: str) -> object:
    """Returns the JSON of a file, or of standard input for `-`."""
    try:
        return json.loads(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Problem(f"{path}: it cannot be read as JSON ({error})") from None


def call(*command: str, timeout: int = 240) -> str:
    """Runs a program and returns its output."""
    if shutil.which(command[0]) is None:
        raise Problem(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
    if done.returncode not in (0, 3 if command[0] == "qpdf" else 0):
        raise Problem(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout.decode(errors="replace")


def page_range(text: str | None, count: int) -> list[int]:
    """Returns the page numbers, from 1, in a text such as `1,3-5`. Without a text, returns all."""
    if not text:
        return list(range(1, count + 1))
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise Problem(f"{text!r} is not a list of pages such as 1,3-5")
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), min(int(last or first), count + 1) + 1)
    if any(not 1 <= one <= count for one in found):
        raise Problem(f"{text!r}: the file has {count} pages")
    return found


@cache
def font_file(family: str) -> tuple[Path, frozenset[int]] | None:
    """Returns the file of a font family and its characters, or None if it is not installed."""
    from fontTools.ttLib import TTFont

    found = call("fc-match", "-f", "%{family}\t%{file}", f"{family}:style=Regular").split("\t")
    if family not in found[0].split(",") or not found[1].endswith(".ttf"):
        return None
    with TTFont(found[1], lazy=True) as font:
        return Path(found[1]), frozenset(font.getBestCmap() or {})


def fonts_for(text: str) -> list[tuple[str, str]]:
    """Splits a text into pieces, each with a font that has all of its letters. Prefers one font for the whole text."""
    pieces: list[tuple[str, str]] = []
    known = [(family, found[1]) for family in FONTS if (found := font_file(family)) is not None]
    whole = {ord(one) for one in text if not one.isspace()}
    known.sort(key=lambda one: not whole <= one[1])
    for letter in text:
        if letter.isspace() and pieces:
            family = pieces[-1][0]
        else:
            family = next((name for name, has in known if ord(letter) in has or letter.isspace()), "")
        if not family:
            raise Problem(f"no font that can be embedded here has U+{ord(letter):04X} {letter}, in {text[:40]!r}")
        if pieces and pieces[-1][0] == family:
            pieces[-1] = (family, pieces[-1][1] + letter)
        else:
            pieces.append((family, letter))
    return pieces
