#!/usr/bin/env python3
"""Checks pictures before delivery: readable, not blank, nothing touches the edge, glyphs.

Errors (exit 1): a damaged or blank picture, a picture below --least pixels, and characters of --text without a glyph
in any installed font. Warnings: something touches an edge, the location where a photo was taken, rotation by a tag
only, a file above 5 MB. --sheet combines all pictures into one, side by side.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from glyphs import missing_glyphs
from PIL import Image, ImageChops, ImageDraw, ImageFont, UnidentifiedImageError

sys.dont_write_bytecode = True
GPS = 0x8825


def edges(picture: Image.Image) -> list[str]:
    """Returns the edges that something touches, if the background has one colour."""
    width, height = picture.size
    corners = [picture.getpixel(at) for at in ((0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1))]
    if len(set(corners)) > 1:
        return []
    ground = Image.new(picture.mode, picture.size, corners[0])
    marks = ImageChops.difference(picture.convert("RGB"), ground.convert("RGB")).convert("L")
    found = marks.point(lambda value: 255 if value > 16 else 0).getbbox()
    if found is None:
        return []
    near = max(2, min(width, height) // 200)
    sides = {"left": found[0], "top": found[1], "right": width - found[2], "bottom": height - found[3]}
    return [name for name, room in sides.items() if room < near]


def findings(path: Path, least: int) -> Iterator[tuple[str, str]]:
    """Yields the findings of a picture."""
    try:
        with Image.open(path) as opened:
            frames = getattr(opened, "n_frames", 1)
            opened.load()
            exif = opened.getexif()
            picture = opened.convert("RGBA" if "A" in opened.getbands() or "transparency" in opened.info else "RGB")
    except (OSError, UnidentifiedImageError, SyntaxError, Image.DecompressionBombError) as error:
        yield "error", f"it is damaged or not a picture ({error})"
        return
    width, height = picture.size
    if min(width, height) < least:
        yield "error", f"it has {width} × {height} pixels, less than {least}"
    if frames == 1 and all(low == high for low, high in picture.convert("RGB").getextrema()):
        yield "error", "it is blank: one colour only"
    for name in edges(picture):
        yield "warning", f"something touches its {name} edge"
    if GPS in exif:
        yield "warning", "its metadata contains the location where it was taken"
    if exif.get(0x0112, 1) not in (1, 0):
        yield "warning", "it is rotated only by a tag, which many programs ignore"
    if path.stat().st_size > 5_000_000:
        yield "warning", f"it has {path.stat().st_size / 1e6:.1f} MB"


def sheet(paths: list[Path], out: Path) -> None:
    """Combines all pictures side by side, on a pattern that shows transparency."""
    width, gap, label = 460, 12, 22
    small = []
    for path in paths:
        with Image.open(path) as opened:
            picture = opened.convert("RGBA")
        picture.thumbnail((width, width))
        ground = Image.new("RGBA", picture.size, "#ffffff")
        pen = ImageDraw.Draw(ground)
        for x in range(0, ground.width, 16):
            for y in range(x // 16 % 2 * 16, ground.height, 32):
                pen.rectangle((x, y, x + 15, y + 15), fill="#e4e7ea")
        small.append(Image.alpha_composite(ground, picture).convert("RGB"))
    columns = min(3, len(small))
    height = max(one.height for one in small) + label + gap
    canvas = Image.new("RGB", (gap + columns * (width + gap), gap + -(-len(small) // columns) * height), "#c9ced3")
    pen, font = ImageDraw.Draw(canvas), ImageFont.truetype("DejaVuSans.ttf", 13)
    for index, (one, path) in enumerate(zip(small, paths, strict=True)):
        x, y = gap + index % columns * (width + gap), gap + index // columns * height
        pen.text((x, y), path.name[:60], fill="#22303c", font=font)
        canvas.paste(one, (x, y + label))
    canvas.save(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path, nargs="+")
    parser.add_argument("--least", type=int, default=1, help="the minimum of the shorter side in pixels")
    parser.add_argument("--text", default="", help="the words that the pictures contain")
    parser.add_argument("--sheet", type=Path, help="the path of a picture that combines all pictures")
    given = parser.parse_args()
    errors = warnings = 0
    whole = []
    for path in given.pictures:
        found = list(findings(path, given.least)) if path.is_file() else [("error", "there is no such file")]
        for kind, text in found:
            print(f"{kind}: {path}: {text}")
        errors += sum(kind == "error" for kind, _ in found)
        warnings += sum(kind == "warning" for kind, _ in found)
        if not any("damaged" in text or "no such" in text for _, text in found):
            whole.append(path)
    for one in missing_glyphs([given.text]):
        print(f"error: no installed font has {one}")
        errors += 1
    if given.sheet and whole:
        sheet(whole, given.sheet)
    look = f"; look at {given.sheet}" if given.sheet and whole else ""
    print(f"{len(given.pictures)} pictures, {errors} errors, {warnings} warnings{look}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
