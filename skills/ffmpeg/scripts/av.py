"""Media files as untrusted input: their streams, and calls of ffmpeg."""

import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True

# The audio encoder and bit rate by the extension of the output.
SOUND = {
    ".mp4": ("aac", "192k"),
    ".m4a": ("aac", "192k"),
    ".mov": ("aac", "192k"),
    ".mkv": ("aac", "192k"),
    ".mp3": ("libmp3lame", "192k"),
    ".webm": ("libopus", "128k"),
    ".opus": ("libopus", "128k"),
    ".ogg": ("libopus", "128k"),
    ".flac": ("flac", ""),
    ".wav": ("pcm_s16le", ""),
}
FILM = (".mp4", ".mov", ".mkv", ".webm")
# Codecs of still images, which ffprobe reports as video.
PICTURES = {"png", "mjpeg", "bmp", "tiff", "webp", "gif"}


class Problem(Exception):
    """An error that the caller can correct. Its text is one line."""


@dataclass(frozen=True)
class Video:
    """The video stream of a clip. Width and height include the rotation of a tag."""

    codec: str
    width: int
    height: int
    rate: float
    pixel_format: str
    seconds: float
    is_still: bool


@dataclass(frozen=True)
class Audio:
    """The first sound track of a clip."""

    codec: str
    rate: int
    channels: int
    seconds: float


@dataclass(frozen=True)
class Clip:
    """The streams of a media file."""

    path: Path
    seconds: float
    video: Video | None
    audio: Audio | None
    sound_tracks: int


def run(main: Callable[[], int | None]) -> None:
    """Runs a script. Prints any error as one line on standard error, and exits with status 1."""
    tool = Path(sys.argv[0]).stem
    try:
        sys.exit(main() or 0)
    except Problem as problem:
        message = str(problem)
    except subprocess.TimeoutExpired as error:
        message = f"{error.cmd[0]} needs more than {error.timeout:.0f} seconds: encode shorter pieces and join them"
    except OSError as error:
        message = str(error)
    print(f"{tool}: {' '.join(message.split())[:500]}", file=sys.stderr)
    sys.exit(1)


def ffmpeg(*arguments: object, level: str = "error", timeout: int = 3600) -> str:
    """Runs ffmpeg and returns its log."""
    command = ["ffmpeg", "-y", "-v", level, "-nostdin", "-nostats", "-hide_banner", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=timeout)
    log = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        lines = [line for line in log.splitlines() if line.strip()]
        raise Problem(f"ffmpeg failed: {' | '.join(lines[-3:])}")
    return log


def _number(value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return 0.0
    return found if math.isfinite(found) else 0.0


def _rate(text: str) -> float:
    over, _, under = text.partition("/")
    return _number(over) / (_number(under) or 1.0)


def _seconds(stream: dict[str, Any], whole: float) -> float:
    """Returns the length of a stream. Matroska stores it as a text such as 00:00:04.200."""
    if found := re.fullmatch(r"(\d+):(\d+):([\d.]+)", str(stream.get("tags", {}).get("DURATION", ""))):
        return int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3])
    return _number(stream.get("duration")) or whole


def _video(stream: dict[str, Any], whole: float) -> Video:
    width, height = int(stream.get("width", 0)), int(stream.get("height", 0))
    turned = [_number(one.get("rotation")) for one in stream.get("side_data_list", []) if "rotation" in one]
    if turned and round(turned[0]) % 180 == 90:
        width, height = height, width
    is_still = stream["codec_name"] in PICTURES and _number(stream.get("nb_frames")) < 2 and whole < 0.2
    rate = _rate(stream.get("avg_frame_rate", "0/1")) or _rate(stream.get("r_frame_rate", "0/1"))
    seconds = _seconds(stream, whole)
    return Video(stream["codec_name"], width, height, rate, stream.get("pix_fmt", ""), seconds, is_still)


def probe(path: Path) -> Clip:
    """Returns the streams of a file."""
    for program in ("ffmpeg", "ffprobe"):
        if shutil.which(program) is None:
            raise Problem(f"{program} is not installed")
    if not path.is_file():
        raise Problem(f"{path}: there is no such file")
    command = ["ffprobe", "-v", "error", "-show_format", "-show_streams", "-of", "json", f"file:{path}"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    found = json.loads(done.stdout or b"{}")
    streams = found.get("streams", [])
    if done.returncode != 0 or not streams:
        raise Problem(f"{path}: it is not a readable audio or video file")
    whole = _number(found["format"].get("duration"))
    known = [one for one in streams if "codec_name" in one]
    pictures = [one for one in known if one["codec_type"] == "video" and not one["disposition"]["attached_pic"]]
    sounds = [one for one in known if one["codec_type"] == "audio"]
    video = _video(pictures[0], whole) if pictures else None
    audio = None
    if sounds:
        one = sounds[0]
        audio = Audio(one["codec_name"], int(one["sample_rate"]), int(one["channels"]), _seconds(one, whole))
    return Clip(path, whole, video, audio, len(sounds))


def sound_options(out: Path) -> list[str]:
    """Returns the options that encode the sound of an output."""
    ending = out.suffix.lower()
    if ending not in SOUND:
        raise Problem(f"{out}: its name must end in one of {' '.join(SOUND)}")
    codec, rate = SOUND[ending]
    return ["-c:a", codec, *(["-b:a", rate] if rate else [])]


def picture_options(out: Path) -> list[str]:
    """Returns the options that encode the picture of an output in a format that most players support."""
    ending = out.suffix.lower()
    if ending not in FILM:
        raise Problem(f"{out}: its name must end in one of {' '.join(FILM)}")
    if ending == ".webm":
        return ["-c:v", "libvpx-vp9", "-crf", "34", "-b:v", "0", "-row-mt", "1", "-cpu-used", "5"]
    fast = ["-movflags", "+faststart"] if ending != ".mkv" else []
    return ["-c:v", "libx264", "-crf", "20", "-preset", "veryfast", "-pix_fmt", "yuv420p", *fast]


def other_than(out: Path, *inputs: Path) -> None:
    """Rejects an output that is one of the inputs."""
    if any(out.resolve() == one.resolve() for one in inputs):
        raise Problem(f"{out}: it is an input; write to another name")


@dataclass(frozen=True)
class Loudness:
    """Integrated loudness in LUFS, true peak in dBTP, loudness range in LU."""

    integrated: float
    peak: float
    range: float


def loudness(path: Path, filters: str = "") -> Loudness:
    """Measures the loudness with EBU R128, after the filters."""
    chain = ",".join(one for one in (filters, "ebur128=peak=true:framelog=verbose") if one)
    log = ffmpeg("-i", f"file:{path}", "-map", "0:a:0", "-af", chain, "-f", "null", "-", level="info")
    summary = log[log.rfind("Summary:") :]
    found = {name: re.search(rf"\b{name}:\s+(-?[\d.]+|-?inf|nan)", summary) for name in ("I", "Peak", "LRA")}
    values = {name: float(one[1]) if one else -math.inf for name, one in found.items()}
    return Loudness(values["I"], values["Peak"], values["LRA"])
