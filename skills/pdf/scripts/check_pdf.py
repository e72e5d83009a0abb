#!/usr/bin/env python3
"""Checks a PDF before delivery, and draws it: single pages, and sheet.png with all of them side by side.

Errors (exit 1): damage, fonts that are not embedded, characters drawn as empty boxes, empty pages, form fields without
an appearance. Warnings: no title, language or tags, leftover text, pages that are nearly empty.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pikepdf
from paper import call, open_pdf, run
from pdf_glyphs import blank_characters, lost_characters, pages_with_boxes, used_fonts
from PIL import Image, ImageDraw, ImageFont

LEFT_OVER = re.compile(r"\{\{|\bTODO\b|lorem ipsum|\bNone\b|\bnan\b|\bundefined\b|\ufffd|■", re.IGNORECASE)
# Fonts that every viewer has, but only with Latin letters.
STANDARD = {"Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Times-Roman", "Times-Bold", "Times-Italic", "Courier"}
STANDARD |= {"ZapfDingbats", "Symbol", "Helvetica-BoldOblique", "Times-BoldItalic", "Courier-Bold"}


def font_findings(pdf: pikepdf.Pdf) -> Iterator[tuple[str, str]]:
    """Finds fonts that are not embedded, and characters that are missing in fonts."""
    for number in pages_with_boxes(pdf):
        yield "error", f"page {number}: a font lacks characters of a chart: empty boxes were drawn"
    for one in used_fonts(pdf):
        files = one.inner.get("/FontDescriptor", {})
        is_inside = any(key in files for key in ("/FontFile", "/FontFile2", "/FontFile3"))
        if not is_inside and one.font.get("/Subtype") != "/Type3" and one.used:
            kind = "warning" if one.name in STANDARD else "error"
            yield kind, f"page {one.page}: the font {one.name} is not embedded"
        if found := lost_characters(one):
            yield "error", f"page {one.page}: {one.name} has no glyph for {' '.join(found[:8])}: empty boxes were drawn"
        if found := blank_characters(one):
            way = "LibreOffice omits coloured emoji, print HTML instead"
            yield "error", f"page {one.page}: {' '.join(found[:8])} cannot be seen: {way}"


def form_errors(pdf: pikepdf.Pdf) -> Iterator[str]:
    """Finds fields whose value is not drawn."""
    form = pdf.Root.get("/AcroForm")
    if form is None:
        return
    if bool(form.get("/NeedAppearances", False)):
        yield "the viewer decides how values are drawn (NeedAppearances): fill the form with fill_form.py"
    for page in pdf.pages:
        for note in page.obj.get("/Annots", []):
            if note.get("/Subtype") == "/Widget" and "/V" in note and "/AP" not in note:
                yield f"the field {note.get('/T', '')} has a value but no appearance: fill it with fill_form.py"


def page_findings(pages: list[Path]) -> Iterator[tuple[str, str]]:
    """Finds pages that are empty or nearly empty."""
    for number, page in enumerate(pages, 1):
        picture = Image.open(page).convert("L")
        inside = picture.crop((0, picture.height // 14, picture.width, picture.height * 13 // 14))
        found = inside.point(lambda value: 255 if value < 215 else 0).getbbox()
        if found is None:
            yield "error", f"page {number} is empty"
        elif found[3] < inside.height * (0.3 if number < len(pages) else 0.12):
            yield "warning", f"page {number}: its lower {1 - found[3] / inside.height:.0%} are empty"


def sheet(pages: list[Path], out: Path) -> None:
    """Combines all pages side by side, numbered."""
    width, gap, label = 420, 12, 22
    pictures = [Image.open(page).convert("RGB") for page in pages]
    small = [one.resize((width, max(round(one.height * width / one.width), 1))) for one in pictures]
    height = max(one.height for one in small) + label + gap
    columns = min(4, len(small))
    canvas = Image.new("RGB", (gap + columns * (width + gap), gap + -(-len(small) // columns) * height), "#d5d9de")
    pen, font = ImageDraw.Draw(canvas), ImageFont.truetype("DejaVuSans.ttf", 14)
    for index, one in enumerate(small):
        x, y = gap + index % columns * (width + gap), gap + index // columns * height
        pen.text((x, y), str(index + 1), fill="#22303c", font=font)
        canvas.paste(one, (x, y + label))
    canvas.save(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--out", type=Path, default=Path("pages"), help="a folder for the drawn pages (pages)")
    given = parser.parse_args()
    pdf = open_pdf(given.pdf)
    given.out.mkdir(parents=True, exist_ok=True)
    for old in given.out.glob("page-*.png"):
        old.unlink()
    call("pdftoppm", "-r", "60", "-l", "60", "-png", str(given.pdf), str(given.out / "page"))
    pages = sorted(given.out.glob("page-*.png"))
    sheet(pages[:40], given.out / "sheet.png")
    found = [*font_findings(pdf), *(("error", one) for one in form_errors(pdf))]
    found += page_findings(pages)
    damage = pdf.check()
    found += [("error", str(one)) for one in damage]
    text = call("pdftotext", str(given.pdf), "-")
    found += [("warning", f"leftover {one!r} in the text") for one in sorted(set(LEFT_OVER.findall(text)))]
    if not text.strip():
        found.append(("warning", "it has no text; if it is a scan, make it searchable with ocr.py"))
    for key, name in (("/Lang", "language"), ("/StructTreeRoot", "tags for screen readers (to_pdf.py)")):
        if key not in pdf.Root:
            found.append(("warning", f"it has no {name}"))
    if not str(pdf.docinfo.get("/Title", "")).strip():
        found.append(("warning", "it has no title"))
    for kind, one in found:
        print(f"{kind}: {one}")
    errors = sum(kind == "error" for kind, _ in found)
    shown = f"look at {given.out}/sheet.png, then at single pages"
    print(f"{given.pdf}: {len(pdf.pages)} pages, {errors} errors, {len(found) - errors} warnings; {shown}")
    return 1 if errors else 0


if __name__ == "__main__":
    run(main)
