#!/usr/bin/env python3
"""Adjusts the loudness of sound and measures the result. A picture does not change.

Targets: -16 web and podcasts (stereo), -19 podcasts (mono), -14 music platforms, -23 television (EBU R128).
Applies one gain to the whole file. A limiter holds the true peaks where the gain would exceed --peak. Exit status 1 if
the result misses the target by more than 0.5 LU or its peak by more than 0.5 dB. Without OUT it only measures.
"""

import argparse
import tempfile
from pathlib import Path

from av import FILM, Clip, Loudness, Problem, ffmpeg, loudness, other_than, probe, run, sound_options

# Below this loudness, ebur128 gates everything, so there is nothing to amplify.
SILENCE = -69.0
# A limiter that reduces peaks by more than this is audible.
AUDIBLE = 6.0


def limited(gain: float, peak: float, rate: int) -> str:
    """Returns a gain and a limiter at four times the sample rate, which detects true peaks."""
    ceiling = 10 ** (peak / 20)
    limiter = f"alimiter=limit={ceiling:.5f}:attack=5:release=80:level=disabled:asc=1"
    return f"volume={gain:.3f}dB,aresample={4 * rate},{limiter},aresample={rate}"


def chosen_filters(source: Path, before: Loudness, target: float, peak: float, rate: int) -> tuple[str, float]:
    """Returns the filters that reach the target, and by how many dB the limiter lowers the highest peak."""
    gain = target - before.integrated
    over = before.peak + gain - peak
    if over <= 0:
        return f"volume={gain:.3f}dB,aresample={rate}", 0.0
    best = (float("inf"), "", 0.0)
    # The gain compensates for the limiter in small steps, because gating makes loudness change abruptly.
    for _ in range(5):
        filters = limited(gain, peak - 0.2, rate)
        missed = target - loudness(source, filters).integrated
        best = min(best, (abs(missed), filters, gain))
        if abs(missed) < 0.15:
            break
        gain += max(-3.0, min(3.0, missed))
    return best[1], before.peak + best[2] - peak


def write(clip: Clip, out: Path, filters: str, rate: int) -> None:
    """Writes the sound through the filters. Picture, cover, subtitles and chapters are copied."""
    keep = ["-map", "0:a:0"]
    if out.suffix.lower() in FILM:
        keep = ["-map", "0:v?", "-map", "0:a:0", "-map", "0:s?", "-c:v", "copy", "-c:s", "copy"]
    elif out.suffix.lower() in (".mp3", ".m4a", ".flac") and clip.video is None:
        keep = ["-map", "0:v?", "-map", "0:a:0", "-c:v", "copy", "-disposition:v", "attached_pic"]
    fast = ["-movflags", "+faststart"] if out.suffix.lower() in (".mp4", ".m4a", ".mov") else []
    sound = ["-af", filters, "-ar", str(rate), *sound_options(out)]
    ffmpeg("-i", f"file:{clip.path}", *keep, *sound, *fast, f"file:{out}")


def is_reached(found: Loudness, target: float, peak: float, tolerance: float) -> bool:
    return abs(found.integrated - target) <= tolerance and found.peak <= peak + tolerance


def shown(found: Loudness) -> str:
    return f"{found.integrated:.1f} LUFS, peak {found.peak:.1f} dBTP, range {found.range:.1f} LU"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="IN")
    parser.add_argument("out", type=Path, metavar="OUT", nargs="?")
    parser.add_argument("--target", type=float, default=-16.0, help="integrated loudness in LUFS (-16)")
    parser.add_argument("--peak", type=float, default=-1.5, help="the highest true peak in dBTP (-1.5)")
    given = parser.parse_args()
    if not (-40 <= given.target <= -5 and -12 <= given.peak <= 0):
        raise Problem("--target must be between -40 and -5 LUFS, --peak between -12 and 0 dBTP")
    clip = probe(given.source)
    if clip.audio is None:
        raise Problem(f"{given.source}: it has no sound")
    before = loudness(given.source)
    if not before.integrated > SILENCE:
        raise Problem(f"{given.source}: it is silent ({before.integrated:.1f} LUFS), or shorter than 0.4 s")
    if given.out is None:
        print(f"{given.source}: {shown(before)}")
        return 0
    other_than(given.out, given.source)
    rate = clip.audio.rate if clip.audio.rate in (44100, 48000) and given.out.suffix != ".opus" else 48000
    with tempfile.TemporaryDirectory() as folder:
        source = given.source
        if clip.video is not None:
            # Measuring only the sound is faster.
            source = Path(folder) / "sound.wav"
            ffmpeg("-i", f"file:{given.source}", "-map", "0:a:0", "-c:a", "pcm_f32le", source)
        target, peak = given.target, given.peak
        # Encoders change loudness and peaks slightly, so a second attempt compensates for that.
        for _ in range(2):
            filters, lowered = chosen_filters(source, before, target, peak, rate)
            write(clip, given.out, filters, rate)
            after = loudness(given.out)
            target += given.target - after.integrated
            peak -= max(0.0, after.peak - given.peak)
            if is_reached(after, given.target, given.peak, 0.2):
                break
    if clip.sound_tracks > 1:
        print(f"warning: {given.source} has {clip.sound_tracks} sound tracks; only the first is in {given.out}")
    if lowered > AUDIBLE:
        print(f"warning: the limiter lowers peaks by {lowered:.1f} dB, which is audible: use acompressor first")
    print(f"{given.out}: {shown(after)}; before: {shown(before)}")
    if not is_reached(after, given.target, given.peak, 0.5):
        raise Problem(
            f"{given.out}: {after.integrated:.1f} LUFS and {after.peak:.1f} dBTP instead of {given.target:g} and "
            f"at most {given.peak:g}: compress the sound first (acompressor), or use a lower target"
        )
    return 0


if __name__ == "__main__":
    run(main)
