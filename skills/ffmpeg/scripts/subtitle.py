#!/usr/bin/env python3
"""Checks subtitles, and adds them to a film.

  check SUBS [--film FILM] [--fix OUT.srt]   overlaps, reading speed, lines, times beyond the film, glyphs
  soft FILM SUBS OUT [--language deu]        a track that can be switched off; picture and sound are copied
  burn FILM SUBS OUT [--font "DejaVu Sans"]  drawn into the picture, which is encoded again

SUBS is SRT or WebVTT in UTF-8. Subtitles with errors are not added to a film. --fix sorts cues, shortens overlaps,
wraps lines and extends the time of short cues. It does not shorten text that is too long for its time.
"""

import argparse
import re
import tempfile
from pathlib import Path

import cues
from av import Clip, Problem, ffmpeg, other_than, picture_options, probe, run, sound_options

TRACK = {".mp4": "mov_text", ".mov": "mov_text", ".mkv": "srt", ".webm": "webvtt"}
# libass measures font sizes relative to a picture of this height.
SCRIPT_HEIGHT = 288


def report(found: list[cues.Cue], path: Path, length: float | None, is_drawn: bool = False) -> int:
    """Prints the findings. Returns the number of errors."""
    wrong = list(cues.findings(found, length, is_drawn))
    for kind, text in wrong[:60]:
        print(f"{kind}: {text}")
    errors = sum(kind == "error" for kind, _ in wrong)
    last = max(one.end for one in found)
    print(f"{path}: {len(found)} cues to {cues.stamp(last)}, {errors} errors, {len(wrong) - errors} warnings")
    return errors


def check(given: argparse.Namespace) -> int:
    length = probe(given.film).seconds if given.film else None
    found = cues.read(given.subtitles)
    if given.fix is None:
        return 1 if report(found, given.subtitles, length) else 0
    other_than(given.fix, given.subtitles)
    if given.fix.suffix.lower() not in (".srt", ".vtt"):
        raise Problem(f"{given.fix}: its name must end in .srt or .vtt")
    cues.write(cues.mended(found, length), given.fix)
    return 1 if report(cues.read(given.fix), given.fix, length) else 0


def checked(given: argparse.Namespace, is_drawn: bool) -> tuple[Clip, list[cues.Cue]]:
    """Returns the film and its subtitles. Fails if the subtitles have errors."""
    other_than(given.out, given.film, given.subtitles)
    film = probe(given.film)
    if film.video is None:
        raise Problem(f"{given.film}: it has no picture")
    found = cues.read(given.subtitles)
    if report(found, given.subtitles, film.seconds, is_drawn):
        raise Problem(f"{given.subtitles}: correct its errors first, or try check --fix")
    return film, found


def soft(given: argparse.Namespace) -> int:
    codec = TRACK.get(given.out.suffix.lower())
    if codec is None:
        raise Problem(f"{given.out}: its name must end in one of {' '.join(TRACK)}")
    if not re.fullmatch(r"[a-z]{3}", given.language):
        raise Problem(f"{given.language!r} is not a language of three letters, such as deu or eng (ISO 639-2)")
    _, found = checked(given, False)
    with tempfile.TemporaryDirectory() as folder:
        clean = Path(folder) / "s.srt"
        cues.write(found, clean)
        streams = ["-map", "0:v:0", "-map", "0:a?", "-map", "1:s:0", "-c", "copy", "-c:s", codec]
        mark = ["-metadata:s:s:0", f"language={given.language}", "-disposition:s:0", "default"]
        fast = ["-movflags", "+faststart"] if codec == "mov_text" else []
        ffmpeg("-i", f"file:{given.film}", "-i", clean, *streams, *mark, *fast, f"file:{given.out}")
        back = Path(folder) / "back.srt"
        ffmpeg("-i", f"file:{given.out}", "-map", "0:s:0", back)
        kept = len(cues.read(back))
    if kept != len(found):
        raise Problem(f"{given.out}: it has only {kept} of {len(found)} cues")
    print(f"{given.out}: {kept} cues as a track in {given.language}")
    return 0


def style(film: Clip, found: list[cues.Cue], font: str) -> str:
    """Sets letters of 1/19 of the height, or smaller if the longest line would not fit into an upright picture."""
    assert film.video is not None
    width, height = film.video.width, film.video.height
    longest = max(cues.columns(line) for one in found for line in one.words.split("\n"))
    pixels = min(height / 19, 0.9 * width / (0.55 * max(longest, 1)))
    scale = SCRIPT_HEIGHT / height
    sizes = {"FontSize": pixels, "Outline": pixels / 12, "Shadow": pixels / 40, "MarginV": height * 0.05}
    shown = ",".join(f"{name}={value * scale:.2f}" for name, value in sizes.items())
    return f"FontName={font},{shown},BackColour=&H80000000"


def burn(given: argparse.Namespace) -> int:
    if not re.fullmatch(r"[\w .-]+", given.font):
        raise Problem(f"{given.font!r} is not the name of a font")
    film, found = checked(given, True)
    options = picture_options(given.out)
    sound = sound_options(given.out) if film.audio else []
    with tempfile.TemporaryDirectory(prefix="subtitle") as folder:
        # A name without characters that must be escaped in filters.
        clean = Path(folder) / "s.srt"
        cues.write(found, clean)
        drawn = f"subtitles={clean}:force_style='{style(film, found, given.font)}'"
        streams = ["-map", "0:v:0", "-map", "0:a:0?", "-sn"]
        ffmpeg("-i", f"file:{given.film}", *streams, "-vf", drawn, *options, *sound, f"file:{given.out}")
    made = probe(given.out).seconds
    if abs(made - film.seconds) > 0.2:
        raise Problem(f"{given.out}: it has {made:.2f} s instead of {film.seconds:.2f}")
    middle = [f"{(one.start + one.end) / 2:.2f}" for one in (found[0], found[len(found) // 2], found[-1])]
    print(f"{given.out}: {len(found)} cues drawn; look at the frames at {', '.join(dict.fromkeys(middle))} s")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("check", help="prints errors and warnings")
    one.add_argument("subtitles", type=Path)
    one.add_argument("--film", type=Path)
    one.add_argument("--fix", type=Path)
    for name, text in (("soft", "adds the subtitles as a track"), ("burn", "draws the subtitles into the picture")):
        one = commands.add_parser(name, help=text)
        for part in ("film", "subtitles", "out"):
            one.add_argument(part, type=Path)
        if name == "soft":
            one.add_argument("--language", default="und", help="three letters, such as deu or eng")
        else:
            one.add_argument("--font", default="DejaVu Sans")
    given = parser.parse_args()
    return {"check": check, "soft": soft, "burn": burn}[given.command](given)


if __name__ == "__main__":
    run(main)
