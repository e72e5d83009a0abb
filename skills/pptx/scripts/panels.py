"""Slides drawn with shapes: figures side by side, and numbered points."""

from collections.abc import Sequence
from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.slide import Slide
from pptx.util import Inches, Pt
from template import BOTTOM, LEFT, RIGHT, TOP

Box = tuple[float, float, float, float]
# The maximum length of a single line below the figures.
ONE_LINE = 100


def add_panel(slide: Slide, name: str, box: Box, fill: MSO_THEME_COLOR) -> Any:
    """Adds a filled rectangle without a line or shadow."""
    panel = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *(Inches(one) for one in box))
    panel.name = name
    panel._element.remove(panel._element.find(qn("p:style")))
    panel.fill.solid()
    panel.fill.fore_color.theme_color = fill
    panel.line.fill.background()
    return panel


def add_lines(frame: Any, lines: Sequence[tuple[str, float, bool, MSO_THEME_COLOR | None]], space: float = 0) -> None:
    """Adds paragraphs with size, weight and colour. None is grey."""
    used = False
    for content, points, bold, shade in lines:
        if not content:
            continue
        paragraph = frame.add_paragraph() if used else frame.paragraphs[0]
        used = True
        paragraph.alignment, paragraph.space_after = PP_ALIGN.LEFT, Pt(space)
        run = paragraph.add_run()
        run.text, run.font.size, run.font.bold = content, Pt(points), bold
        if shade is None:
            run.font.color.rgb = RGBColor.from_string("4A5763")
        else:
            run.font.color.theme_color = shade


def add_text(slide: Slide, name: str, box: Box, anchor: MSO_ANCHOR) -> Any:
    """Adds a text box without margins. Returns its frame."""
    shape = slide.shapes.add_textbox(*(Inches(one) for one in box))
    shape.name = name
    frame = shape.text_frame
    frame.word_wrap, frame.vertical_anchor = True, anchor
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    return frame


def add_figures(slide: Slide, figures: Sequence[tuple[str, str, str]], text: Sequence[str]) -> None:
    """Adds a card for each figure, with the text below them."""
    if not 1 < len(figures) < 5:
        raise ValueError("two to four figures fit side by side")
    gap, count = 0.3, len(figures)
    width = (RIGHT - LEFT - gap * (count - 1)) / count
    is_one_line = len(text) == 1 and len(text[0]) <= ONE_LINE
    height = (3.4 if is_one_line else 2.5) if text else BOTTOM - TOP - 0.6
    for index, (value, label, remark) in enumerate(figures):
        box = (LEFT + index * (width + gap), TOP + 0.05, width, height)
        card = add_panel(slide, f"Figure {index + 1}", box, MSO_THEME_COLOR.BACKGROUND_2)
        frame = card.text_frame
        frame.word_wrap, frame.vertical_anchor = True, MSO_ANCHOR.MIDDLE
        frame.margin_left = frame.margin_right = Inches(0.35)
        size = min(54.0 if not text else 44.0, (width - 0.7) * 72 / (0.56 * max(len(value), 1)))
        lines = [(value, size, True, MSO_THEME_COLOR.ACCENT_1), (label, 22.0, True, MSO_THEME_COLOR.TEXT_1)]
        add_lines(frame, [*lines, (remark, 16.0, False, None)], 2)
    if text:
        top = TOP + height + 0.45
        frame = add_text(slide, "Text", (LEFT, top, RIGHT - LEFT, BOTTOM - top), MSO_ANCHOR.TOP)
        add_lines(frame, [(one, 20.0, False, MSO_THEME_COLOR.TEXT_1) for one in text], 8)


def add_points(slide: Slide, points: Sequence[tuple[str, str]]) -> None:
    """Adds rows with a number, a heading and a sentence."""
    if not 1 < len(points) < 6:
        raise ValueError("two to five points fit onto a slide")
    row = (BOTTOM - TOP) / len(points)
    side = min(0.8, row - 0.35)
    for index, (heading, sentence) in enumerate(points):
        top = TOP + index * row
        add_panel(slide, f"Row {index + 1}", (LEFT, top, RIGHT - LEFT, row - 0.15), MSO_THEME_COLOR.BACKGROUND_2)
        box = (LEFT + 0.3, top + (row - 0.15 - side) / 2, side, side)
        number = add_panel(slide, f"Number {index + 1}", box, MSO_THEME_COLOR.ACCENT_1)
        frame = number.text_frame
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
        frame.vertical_anchor = MSO_ANCHOR.MIDDLE
        add_lines(frame, [(str(index + 1), 24.0, True, MSO_THEME_COLOR.BACKGROUND_1)])
        frame.paragraphs[0].alignment = PP_ALIGN.CENTER
        box = (LEFT + side + 0.65, top + 0.05, RIGHT - LEFT - side - 0.95, row - 0.25)
        frame = add_text(slide, f"Point {index + 1}", box, MSO_ANCHOR.MIDDLE)
        lines = [(heading, 24.0, True, MSO_THEME_COLOR.TEXT_1), (sentence, 18.0, False, None)]
        add_lines(frame, lines, 2)
