"""Subtitles in SRT and WebVTT: reading, writing and checks."""

import re
import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from av import Problem
from glyphs import missing_glyphs

MAX_LINE = 42
MAX_LINES = 2
# The number of characters per second that most adults can read.
FAST = 17.0
SHORT, LONG = 0.8, 7.0
# The minimum pause between two cues. Without it, viewers see them as one.
GAP = 0.04
STAMP = r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
TIMES = re.compile(rf"\s*{STAMP}\s*-->\s*{STAMP}(.*)")
TAG = re.compile(r"</?[a-zA-Z][^>]*>|\{\\[^}]*\}|<\d[^>]*>")


@dataclass(frozen=True)
class Cue:
    """A text and its display times in seconds."""

    start: float
    end: float
    text: str

    @property
    def words(self) -> str:
        """The text without tags, such as for italics and colours."""
        return TAG.sub("", self.text)


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def read(path: Path) -> list[Cue]:
    """Reads the cues of a UTF-8 file, in the order of the file."""
    if not path.is_file():
        raise Problem(f"{path}: there is no such file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(f"{path}: it is not UTF-8; convert it first: iconv -f WINDOWS-1252 -t UTF-8") from None
    found = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")):
        lines = block.split("\n")
        at = next((n for n, line in enumerate(lines) if "-->" in line), None)
        if at is None:
            if not block or re.match(r"WEBVTT|NOTE|STYLE|REGION", lines[0]):
                continue
            raise Problem(f"{path}: {lines[0][:60]!r} is where the times of a cue should be")
        times = TIMES.fullmatch(lines[at])
        if not times:
            raise Problem(f"{path}: {lines[at][:60]!r} is not written as 00:00:01,000 --> 00:00:03,500")
        groups = times.groups()
        found.append(Cue(_seconds(*groups[:4]), _seconds(*groups[4:8]), "\n".join(lines[at + 1 :]).strip()))
    if not found:
        raise Problem(f"{path}: it has no cues; it must be SRT or WebVTT")
    return found


def stamp(seconds: float, comma: str = ",") -> str:
    whole = round(seconds * 1000)
    minutes, rest = divmod(whole, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{comma}{rest % 1000:03}"


def write(cues: list[Cue], path: Path) -> None:
    """Writes SRT, or WebVTT if the name ends in .vtt."""
    is_vtt = path.suffix.lower() == ".vtt"
    comma = "." if is_vtt else ","
    blocks = [
        f"{n}\n{stamp(one.start, comma)} --> {stamp(one.end, comma)}\n{one.text}\n" for n, one in enumerate(cues, 1)
    ]
    path.write_text(("WEBVTT\n\n" if is_vtt else "") + "\n".join(blocks), encoding="utf-8")


def columns(text: str) -> int:
    """Returns the width of a line in letters. Chinese, Japanese and Korean characters count twice."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else not unicodedata.combining(one) for one in text)


def wrapped(text: str) -> str:
    """Wraps a text that is too long into lines of about equal length."""
    lines = text.split("\n")
    if (len(lines) <= MAX_LINES and all(columns(TAG.sub("", one)) <= MAX_LINE for one in lines)) or TAG.search(text):
        return text
    words = " ".join(text.split())
    count = -(-len(words) // MAX_LINE)
    for width in range(max(10, -(-len(words) // max(1, count))), MAX_LINE + 1):
        found = textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
        if len(found) <= count:
            return "\n".join(found)
    return "\n".join(textwrap.wrap(words, MAX_LINE, break_long_words=False, break_on_hyphens=False))


def mended(cues: list[Cue], length: float | None) -> list[Cue]:
    """Returns sorted cues without overlaps and empty cues, with wrapped lines and longer display times if possible."""
    found = sorted((replace(one, text=wrapped(one.text)) for one in cues if one.words.strip()), key=lambda it: it.start)
    result = []
    for n, one in enumerate(found):
        last = found[n + 1].start - GAP if n + 1 < len(found) else length or one.end + LONG
        wanted = max(one.end, one.start + max(1.0, len(one.words) / FAST))
        end = min(max(one.end, min(wanted, one.start + LONG)), last)
        result.append(replace(one, end=end if end > one.start else one.end))
    return result


def _of_one(one: Cue, length: float | None) -> Iterator[tuple[str, str]]:
    shown = one.end - one.start
    if shown <= 0:
        yield "error", "it ends before it begins"
        return
    if not one.words.strip():
        yield "error", "it has no text"
        return
    if length is not None and one.end > length + 0.1:
        yield "error", f"it ends after the film, which is {length:.2f} s long"
    speed = len("".join(one.words.split("\n"))) / shown
    if speed > FAST:
        yield "warning", f"{speed:.0f} characters a second; shorten it or show it longer, to at most {FAST:.0f}"
    lines = one.words.split("\n")
    if len(lines) > MAX_LINES or max(map(columns, lines)) > MAX_LINE:
        shape = f"{len(lines)} lines of up to {max(map(columns, lines))} letters"
        yield "warning", f"{shape}: at most {MAX_LINES} of {MAX_LINE}"
    if shown < SHORT or shown > LONG:
        yield "warning", f"it is shown for {shown:.1f} s: {SHORT:g} to {LONG:g} is usual"


def findings(cues: list[Cue], length: float | None, is_drawn: bool) -> Iterator[tuple[str, str]]:
    """Yields findings as kind and sentence. A missing glyph is an error only if the text is drawn into the picture."""
    for n, one in enumerate(cues, 1):
        for kind, text in _of_one(one, length):
            yield kind, f"cue {n} at {stamp(one.start)}: {text}"
    for n, (one, after) in enumerate(pairwise(cues), 1):
        if after.start < one.start:
            yield "error", f"cue {n + 1} at {stamp(after.start)}: it begins before cue {n}"
        elif after.start < one.end - 0.001:
            yield "error", f"cue {n + 1} at {stamp(after.start)}: it overlaps cue {n} by {one.end - after.start:.2f} s"
    # Glyphs of colour fonts cannot be drawn into a film.
    for glyph in missing_glyphs((cue.words for cue in cues), ":color=false"):
        yield "error" if is_drawn else "warning", f"no installed font can draw {glyph} into a film"
