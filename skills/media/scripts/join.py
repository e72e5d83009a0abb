#!/usr/bin/env python3
"""Joins clips of any size, rate and codec, and still pictures, into one film. Also joins sound files into one.

Clips with the same format are copied without loss. Other clips are converted to one size and rate: those of the first
clip, unless --size and --rate are set. A clip without sound gets silence. Prints the second at which each clip begins.
"""

import argparse
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from av import FILM, Clip, Problem, ffmpeg, other_than, picture_options, probe, run, sound_options

FIT = {
    "bars": "scale={w}:{h}:force_original_aspect_ratio=decrease:force_divisible_by=2,pad={w}:{h}:(ow-iw)/2:(oh-ih)/2",
    "crop": "scale={w}:{h}:force_original_aspect_ratio=increase,crop={w}:{h}",
    "blur": "split[a{n}][b{n}];[a{n}]scale={w}:{h}:force_original_aspect_ratio=increase,crop={w}:{h},"
    "boxblur=20:2[c{n}];"
    "[b{n}]scale={w}:{h}:force_original_aspect_ratio=decrease:force_divisible_by=2[d{n}];"
    "[c{n}][d{n}]overlay=(W-w)/2:(H-h)/2",
}


@dataclass(frozen=True)
class Part:
    """A clip and the time for which it is shown."""

    clip: Clip
    seconds: float

    @property
    def is_still(self) -> bool:
        return self.clip.video is not None and self.clip.video.is_still


def part(clip: Clip, still: float) -> Part:
    if clip.video is not None and clip.video.is_still:
        return Part(clip, still)
    lengths = [one.seconds for one in (clip.video, clip.audio) if one is not None]
    if not lengths or max(lengths) <= 0:
        raise Problem(f"{clip.path}: it has no length")
    return Part(clip, max(lengths))


def are_alike(parts: list[Part]) -> bool:
    """Whether the clips can be joined without encoding."""

    def form(one: Part) -> object:
        video, audio = one.clip.video, one.clip.audio
        picture = video and (video.codec, video.width, video.height, round(video.rate, 2), video.pixel_format)
        return picture, audio and (audio.codec, audio.rate, audio.channels), one.clip.path.suffix.lower()

    # In a copy, sound that ends later than its picture would shift the sound of the next clip.
    ends = [abs(one.clip.video.seconds - one.clip.audio.seconds) for one in parts if one.clip.video and one.clip.audio]
    return len({form(one) for one in parts}) == 1 and not parts[0].is_still and max(ends, default=0.0) < 0.1


def copy(parts: list[Part], out: Path) -> None:
    """Joins the clips without encoding."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as lines:
        for one in parts:
            name = str(one.clip.path.resolve()).replace("'", "'\\''")
            lines.write(f"file '{name}'\n")
        lines.flush()
        fast = ["-movflags", "+faststart"] if out.suffix.lower() in (".mp4", ".mov", ".m4a") else []
        streams = ["-map", "0:v:0?", "-map", "0:a:0?", "-c", "copy"]
        ffmpeg("-f", "concat", "-safe", "0", "-i", lines.name, *streams, *fast, f"file:{out}")


def picture_chain(n: int, one: Part, size: tuple[int, int], rate: float, fit: str) -> str:
    """Returns the filters that convert the picture of a clip to the format of the film."""
    frame = FIT[fit].format(w=size[0], h=size[1], n=n)
    even = f"setsar=1,format=yuv420p,tpad=stop_mode=clone:stop_duration={one.seconds:.3f}"
    return f"[{n}:v:0]fps={rate:.6g},{frame},{even},trim=duration={one.seconds:.3f},setpts=PTS-STARTPTS[v{n}]"


def sound_chain(n: int, one: Part) -> str:
    """Returns the filters that convert the sound of a clip to the format of the film. Short fades prevent clicks."""
    form = "aresample=48000:async=1,aformat=sample_fmts=fltp:channel_layouts=stereo"
    last = max(0.0, one.seconds - 0.02)
    source = f"[{n}:a:0]{form}," if one.clip.audio else "anullsrc=r=48000:cl=stereo,"
    fades = f"afade=t=in:d=0.02,afade=t=out:st={last:.3f}:d=0.02"
    return f"{source}apad,atrim=duration={one.seconds:.3f},asetpts=PTS-STARTPTS,{fades}[a{n}]"


def chained(parts: list[Part], fade: float, has_picture: bool) -> list[str]:
    """Returns the filters that join the clips, with the outputs [v] and [a]."""
    count = len(parts)
    if not fade:
        streams = "".join(f"[v{n}][a{n}]" if has_picture else f"[a{n}]" for n in range(count))
        return [f"{streams}concat=n={count}:v={int(has_picture)}:a=1{'[v]' if has_picture else ''}[a]"]
    found, at = [], 0.0
    for n in range(1, count):
        at += parts[n - 1].seconds - fade
        first, end = ("0" if n == 1 else f"x{n - 1}"), ("" if n == count - 1 else f"x{n}")
        if has_picture:
            found.append(f"[v{first}][v{n}]xfade=transition=fade:duration={fade}:offset={at:.3f}[v{end}]")
        found.append(f"[a{first}][a{n}]acrossfade=d={fade}[a{end}]")
    return found


def encode(parts: list[Part], out: Path, given: argparse.Namespace) -> str:
    """Converts all clips to one format and joins them. Returns the format."""
    first = parts[0].clip.video
    inputs: list[str] = []
    for one in parts:
        inputs += ["-loop", "1", "-t", f"{one.seconds:.3f}"] if one.is_still else []
        inputs += ["-i", f"file:{one.clip.path}"]
    graph = [sound_chain(n, one) for n, one in enumerate(parts)]
    if first is None:
        ffmpeg(*inputs, "-filter_complex", ";".join(graph + chained(parts, given.fade, False)),
               "-map", "[a]", *sound_options(out), f"file:{out}")  # fmt: skip
        return "48 kHz stereo"
    moving = next((one.clip.video for one in parts if one.clip.video and not one.is_still), None)
    rate = given.rate or min(60.0, (moving.rate if moving else 0.0) or 30.0)
    size = given.size or (first.width, first.height)
    size = (size[0] // 2 * 2, size[1] // 2 * 2)
    graph += [picture_chain(n, one, size, rate, given.fit) for n, one in enumerate(parts)]
    graph += chained(parts, given.fade, True)
    ffmpeg(*inputs, "-filter_complex", ";".join(graph), "-map", "[v]", "-map", "[a]",
           *picture_options(out), *sound_options(out), f"file:{out}")  # fmt: skip
    return f"{size[0]} × {size[1]} at {rate:.4g}/s"


def size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{2,5})x(\d{2,5})", text)
    if not found:
        raise argparse.ArgumentTypeError("a size is written as 1280x720")
    return int(found[1]), int(found[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("clips", type=Path, metavar="CLIP", nargs="+")
    parser.add_argument("--size", type=size, help="such as 1280x720")
    parser.add_argument("--rate", type=float, help="frames per second")
    parser.add_argument("--fit", choices=sorted(FIT), default="bars", help="how clips fill the frame (bars)")
    parser.add_argument("--fade", type=float, default=0.0, help="seconds of cross-fade between clips (0)")
    parser.add_argument("--still", type=float, default=4.0, help="the seconds for which a still picture is shown (4)")
    given = parser.parse_args()
    other_than(given.out, *given.clips)
    parts = [part(probe(path), given.still) for path in given.clips]
    if len(parts) < 2 and not given.size:
        raise Problem("give at least two clips, or one clip and --size")
    without = [str(one.clip.path) for one in parts if one.clip.video is None]
    if without and len(without) < len(parts):
        raise Problem(f"{without[0]}: it has no picture, but other clips do; overlay it as sound, or add one")
    if not without and given.out.suffix.lower() not in FILM:
        raise Problem(f"{given.out}: clips with a picture need a name that ends in one of {' '.join(FILM)}")
    short = min(parts, key=lambda one: one.seconds)
    if given.fade < 0 or given.still <= 0 or (given.rate is not None and not 1 <= given.rate <= 120):
        raise Problem("--fade must be at least 0, --still above 0, --rate from 1 to 120")
    if given.fade * 2 >= short.seconds and given.fade:
        raise Problem(f"{short.clip.path}: it has {short.seconds:.2f} s, too short for fades of {given.fade:g} s")
    is_copied = are_alike(parts) and not (given.fade or given.size or given.rate)
    is_copied = is_copied and given.out.suffix.lower() == parts[0].clip.path.suffix.lower()
    if is_copied:
        copy(parts, given.out)
    form = "copied without loss" if is_copied else encode(parts, given.out, given)
    starts = [sum(one.seconds for one in parts[:n]) - given.fade * n for n in range(len(parts))]
    wanted, made = starts[-1] + parts[-1].seconds, probe(given.out)
    if abs(made.seconds - wanted) > 0.1 + 0.05 * len(parts):
        raise Problem(f"{given.out}: it has {made.seconds:.2f} s instead of {wanted:.2f}; a clip may be damaged")
    places = ", ".join(f"{one:.2f}" for one in starts)
    print(f"{given.out}: {len(parts)} clips, {made.seconds:.2f} s, {form}; they begin at {places}")


if __name__ == "__main__":
    run(main)
