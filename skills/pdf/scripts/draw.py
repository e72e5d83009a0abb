"""Texts drawn as form XObjects with embedded fonts, so that every viewer shows the same result."""

import io
from dataclasses import dataclass

from paper import Problem, font_file, fonts_for
from pikepdf import Object, Pdf
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

MIN_SIZE = 4.0


@dataclass
class Drawing:
    """A text and its box."""

    text: str
    width: float
    height: float
    # 0 is the largest size that fits.
    size: float = 0
    align: int = 0
    is_multiline: bool = False
    # The number of cells, with one letter each.
    cells: int = 0
    color: tuple[float, float, float] = (0, 0, 0)


def register(family: str) -> str:
    """Registers a font with reportlab, once."""
    name = family.replace(" ", "")
    found = font_file(family)
    if name not in pdfmetrics.getRegisteredFontNames() and found is not None:
        pdfmetrics.registerFont(TTFont(name, str(found[0])))
    return name


def broad(text: str, size: float) -> float:
    """Returns the width of a text."""
    return sum(float(pdfmetrics.stringWidth(piece, register(family), size)) for family, piece in fonts_for(text))


def wrap(text: str, size: float, width: float) -> list[str]:
    """Wraps a text into lines. Cuts words that are too long."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            tried = f"{line} {word}" if line else word
            if line and broad(tried, size) > width:
                lines.append(line)
                tried = word
            line = tried
            while broad(line, size) > width and len(line) > 1:
                cut = next(end for end in range(len(line) - 1, 0, -1) if end == 1 or broad(line[:end], size) <= width)
                lines.append(line[:cut])
                line = line[cut:]
        lines.append(line)
    return lines


def lay_out(one: Drawing) -> tuple[float, list[str]]:
    """Returns the size and the lines of a text. A given size shrinks only as far as necessary."""
    width, height = one.width - 4, one.height - 2
    if one.is_multiline:
        size = one.size or 11.0
        lines = wrap(one.text, size, width)
        while len(lines) * size * 1.15 > height and size > MIN_SIZE:
            size -= 0.25
            lines = wrap(one.text, size, width)
        if len(lines) * size * 1.15 > height + 1:
            size = 0
    else:
        lines = [" ".join(one.text.split())]
        size = one.size or min(12.0, height * 0.75)
        length = broad(lines[0], size)
        if length > width and not one.cells:
            size *= width / length
        size = min(size, max(height, MIN_SIZE) * 0.95)
    if size < MIN_SIZE:
        raise Problem(f"the text {one.text[:40]!r} does not fit into its box of {one.width:.0f} × {one.height:.0f} pt")
    return size, lines


def put_line(canvas: Canvas, x: float, y: float, text: str, size: float) -> None:
    """Draws a line, with a font for each piece."""
    for family, piece in fonts_for(text):
        canvas.setFont(register(family), size)
        canvas.drawString(x, y, piece)
        x += pdfmetrics.stringWidth(piece, register(family), size)


def paint(canvas: Canvas, one: Drawing) -> None:
    """Draws a text onto the page."""
    size, lines = lay_out(one)
    canvas.setFillColorRGB(*one.color)
    if one.cells:
        cell = one.width / one.cells
        base = (one.height - size * 0.72) / 2
        for at, letter in enumerate(lines[0]):
            put_line(canvas, (at + 0.5) * cell - broad(letter, size) / 2, base, letter, size)
        return
    base = one.height - 2 - size * 0.92 if one.is_multiline else (one.height - size * 0.72) / 2
    for line in lines:
        free = one.width - 4 - broad(line, size)
        put_line(canvas, 2 + free * one.align / 2, base, line, size)
        base -= size * 1.15


def drawn(pdf: Pdf, drawings: list[Drawing]) -> list[Object]:
    """Returns a form XObject of `pdf` for each text. All of them share their fonts."""
    if not drawings:
        return []
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for one in drawings:
        canvas.setPageSize((one.width, one.height))
        if one.text.strip():
            paint(canvas, one)
        canvas.showPage()
    canvas.save()
    buffer.seek(0)
    with Pdf.open(buffer) as made:
        looks = [pdf.copy_foreign(page.as_form_xobject()) for page in made.pages]
    for look, one in zip(looks, drawings, strict=True):
        look.write(b"/Tx BMC\nq\n" + look.read_bytes() + b"\nQ\nEMC\n" if one.text.strip() else b"/Tx BMC\nEMC\n")
    return looks
