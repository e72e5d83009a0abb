#!/usr/bin/env python3
"""Checks audio and video before delivery, and draws a sheet of its frames for review.

Errors (exit 1): damage anywhere, a picture that is all black, silence throughout, sound and picture that end at
different times, and any difference from --seconds, --size and --loudness. Warnings: black and silent sections, long
still pictures, clipping, pixel formats that many players do not support. --sheet draws frames with their times, or
the waveform of the sound.
"""

import argparse
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from av import Clip, Problem, ffmpeg, probe, run

FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
DAMAGE = re.compile("error while decoding|invalid|corrupt|truncat", re.IGNORECASE)


def decoded(clip: Clip) -> str:
    """Returns the log of one complete decoding: black, frozen and silent sections, loudness, damage."""
    chains, outputs = [], []
    if clip.video:
        chains.append("[0:v:0]blackdetect=d=0.3:pix_th=0.08,freezedetect=n=0.0005:d=5[v]")
        outputs += ["-map", "[v]"]
    if clip.audio:
        chains.append("[0:a:0]silencedetect=n=-50dB:d=1,ebur128=peak=true:framelog=verbose[a]")
        outputs += ["-map", "[a]"]
    ends = ["-progress", "pipe:2", "-f", "null", "-"]
    return ffmpeg("-i", f"file:{clip.path}", "-filter_complex", ";".join(chains), *outputs, *ends, level="info")


def stretches(log: str, first: str, last: str, seconds: float) -> list[tuple[float, float]]:
    """Returns the start and end of each section that a filter found. The end of the file may end the last section."""
    starts = [float(one) for one in re.findall(rf"{first}: ?(-?[\d.]+)", log)]
    ends = [float(one) for one in re.findall(rf"{last}: ?([\d.]+)", log)]
    ends += [seconds] * (len(starts) - len(ends))
    return [(max(0.0, start), end) for start, end in zip(starts, ends, strict=False)]


def picture_findings(clip: Clip, log: str) -> Iterator[tuple[str, str]]:
    assert clip.video is not None
    for kind, first, last in (("black", "black_start", "black_end"), ("still", "freeze_start", "freeze_end")):
        for start, end in stretches(log, first, last, clip.seconds)[:8]:
            if kind == "black" and end - start > 0.95 * clip.video.seconds:
                yield "error", "the picture is black throughout"
            else:
                yield "warning", f"the picture is {kind} from {start:.2f} to {end:.2f} s"
    if clip.video.codec == "h264" and clip.video.pixel_format not in ("yuv420p", "yuvj420p"):
        yield "error", f"its pixel format is {clip.video.pixel_format}; many players need yuv420p: -pix_fmt yuv420p"
    if clip.audio and abs(clip.video.seconds - clip.audio.seconds) > 0.3:
        yield "error", f"the picture ends at {clip.video.seconds:.2f} s and the sound at {clip.audio.seconds:.2f} s"


def sound_findings(clip: Clip, log: str, wanted: float | None) -> Iterator[tuple[str, str]]:
    assert clip.audio is not None
    for start, end in stretches(log, "silence_start", "silence_end", clip.seconds)[:8]:
        if end - start > 0.95 * clip.audio.seconds:
            yield "error", "the sound is silent throughout"
        else:
            yield "warning", f"the sound is silent from {start:.2f} to {end:.2f} s"
    summary = log[log.rfind("Summary:") :]
    loud = re.search(r"\bI:\s+(-?[\d.]+) LUFS", summary)
    peak = re.search(r"\bPeak:\s+(-?[\d.]+) dBFS", summary)
    if peak and float(peak[1]) > -0.1:
        yield "warning", f"its true peak is {float(peak[1]):.1f} dBTP: it clips"
    if wanted is not None and (loud is None or abs(float(loud[1]) - wanted) > 0.5):
        yield "error", f"its loudness is {loud[1] if loud else 'unknown'} LUFS instead of {wanted:g}: run loudness.py"


def findings(clip: Clip, given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    log = decoded(clip)
    damage = [line for line in log.splitlines() if DAMAGE.search(line)]
    if damage:
        yield "error", f"it is damaged: {re.sub(r'^.*] ', '', damage[0])[:120]} ({len(damage)} places)"
    there = max([float(one) / 1e6 for one in re.findall(r"out_time_us=(\d+)", log)], default=0.0)
    if there < clip.seconds - 0.5:
        yield "error", f"it is cut off: only {there:.2f} of {clip.seconds:.2f} s are there"
    if given.seconds is not None and abs(clip.seconds - given.seconds) > 0.1:
        yield "error", f"it has {clip.seconds:.2f} s instead of {given.seconds:g}"
    if given.size and (clip.video is None or f"{clip.video.width}x{clip.video.height}" != given.size):
        yield "error", f"it does not have the size {given.size}"
    if clip.video and not clip.video.is_still:
        yield from picture_findings(clip, log)
    if clip.audio:
        yield from sound_findings(clip, log, given.loudness)
    if clip.path.stat().st_size > 100_000_000:
        yield "error", f"it has {clip.path.stat().st_size / 1e6:.0f} MB; the limit of an output is 100"


def sheet(clip: Clip, out: Path, count: int, at: list[float]) -> None:
    """Draws frames with their times into one picture, or the waveform and spectrum of a sound file."""
    if clip.video is None:
        # The height of the spectrum must be a power of two. Otherwise it takes a hundred times as long.
        waves = "[0:a:0]asplit[a][b];[a]showwavespic=s=1280x300:split_channels=1,format=rgb24[w]"
        waves += ";[b]showspectrumpic=s=1280x256:legend=0,format=rgb24[s]"
        graph = f"{waves};[w][s]vstack"
        ffmpeg("-i", f"file:{clip.path}", "-filter_complex", graph, "-frames:v", 1, "-update", 1, f"file:{out}")
        return
    # The last frame begins before the end of the stream.
    end = max(0.0, clip.video.seconds - 1.5 / (clip.video.rate or 25))
    times = at or [end * n / max(1, count - 1) for n in range(count)]
    if late := [one for one in times if not 0 <= one <= clip.video.seconds]:
        raise Problem(f"--at {late[0]:g}: the film ends at {clip.video.seconds:.2f} s")
    columns = 4 if clip.video.width >= clip.video.height else 6
    columns = min(columns, len(times))
    width = 1440 // max(columns, 2) // 2 * 2
    with tempfile.TemporaryDirectory() as folder:
        for n, one in enumerate(times):
            label = f"drawtext=fontfile={FONT}:text='{one:.2f} s':fontsize=18:fontcolor=white:x=8:y=h-23"
            filters = [
                f"scale={width}:-2,pad=iw:ih+30:0:0:color=0x404040",
                *([label] if FONT.exists() else []),
                "setsar=1",
            ]
            target = Path(folder) / f"{n:03}.png"
            seek = ["-ss", f"{min(one, end):.3f}", "-i", f"file:{clip.path}", "-frames:v", 1, "-update", 1]
            ffmpeg(*seek, "-vf", ",".join(filters), target)
        tile = f"tile={columns}x{-(-len(times) // columns)}:padding=6:margin=6:color=0x808080"
        ffmpeg("-i", f"{folder}/%03d.png", "-vf", tile, "-frames:v", 1, "-update", 1, f"file:{out}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("media", type=Path)
    parser.add_argument("--sheet", type=Path, help="the path of the sheet, PNG or JPEG")
    parser.add_argument("--count", type=int, default=12, help="the number of frames on the sheet (12)")
    parser.add_argument("--at", type=float, nargs="+", default=[], metavar="SECONDS", help="the times of its frames")
    parser.add_argument("--seconds", type=float, help="the expected length, to a tenth of a second")
    parser.add_argument("--size", help="the expected frame size, such as 1280x720")
    parser.add_argument("--loudness", type=float, help="the expected loudness in LUFS")
    given = parser.parse_args()
    if not 1 <= given.count <= 60 or len(given.at) > 60:
        raise Problem("a sheet has 1 to 60 frames")
    clip = probe(given.media)
    found = list(findings(clip, given))
    for kind, text in found:
        print(f"{kind}: {text}")
    if given.sheet:
        sheet(clip, given.sheet, given.count, given.at)
    errors = sum(kind == "error" for kind, _ in found)
    video, audio = clip.video, clip.audio
    parts = [f"{clip.seconds:.2f} s"]
    parts += [f"{video.codec} {video.width} × {video.height} at {video.rate:.4g}/s"] if video else ["no picture"]
    parts += [f"{audio.codec} {audio.rate} Hz, {audio.channels} channels"] if audio else ["no sound"]
    look = f"; look at {given.sheet}" if given.sheet else ""
    print(f"{given.media}: {', '.join(parts)}, {errors} errors, {len(found) - errors} warnings{look}")
    return 1 if errors else 0


if __name__ == "__main__":
    run(main)
