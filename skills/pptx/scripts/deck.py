"""The house style for presentations: a module for your own script, based on python-pptx.

    sys.path.insert(0, "skill/scripts")
    from deck import Deck

    d = Deck("Sales 2025", author="Finance", footer="Bakery · March 2026")
    d.cover("Coffee grew by a third", "Report for the board")
    d.figures("Three figures tell the year", [("161,006 €", "sales", "+9 % on 2024"), ("+36 %", "coffee", "")])
    d.chart("Coffee passed bread in June", "line", months, {"Coffee": coffee, "Bread": bread},
            description="Two lines: …", text=["what it means"], source="Source: ledger")
    d.table("Four shops make all of it", ["Shop", "Sales"], rows, total=True)
    d.points("Three things to do now", [("Hire a barista", "for shop two, from April"), ("Open on Sundays", "…")])
    d.bullets("What the survey says", ["Hire a barista", ("Open on Sundays", ["from May"])], notes="Say …")
    d.two("Buy or rent", ("Buy", ["…"]), ("Rent", ["…"]))
    d.picture("The new shop", "shop.jpg", "The shop from the street", text=["…"])
    d.save("deck.pptx")

Each call returns the slide. `d.prs` is the presentation of python-pptx, for everything else.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from charts import KINDS, style_chart
from panels import add_figures, add_points
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.oxml.ns import qn
from pptx.slide import Slide
from pptx.text.text import TextFrame
from pptx.util import Emu, Pt
from table import fill_table
from template import new_deck

# A text up to this size is set large next to a chart or in a column.
LARGE_LINES, LARGE_LETTERS = 3, 110
Items = Sequence[str | tuple[str, Sequence[str]]]


def enlarge(frame: TextFrame) -> None:
    """Increases the size of a short text. A single sentence has no bullet."""
    for paragraph in frame.paragraphs:
        for run in paragraph.runs:
            run.font.size = Pt(24 - 4 * paragraph.level)
    if len(frame.paragraphs) == 1:
        properties = frame.paragraphs[0]._p.get_or_add_pPr()
        properties.set("marL", "0")
        properties.set("indent", "0")
        properties.insert(0, properties.makeelement(qn("a:buNone"), {}))


class Deck:
    """A deck that is written slide by slide."""

    def __init__(
        self,
        title: str,
        author: str = "",
        footer: str = "",
        accent: str = "1F5A7A",
        second: str = "C8643C",
        font: str = "Calibri",
    ) -> None:
        self.prs = new_deck(title, author, accent, second, font)
        self.footer = footer

    def add(self, layout: str, title: str, notes: str = "", source: str = "") -> Slide:
        """Adds a slide with a title, its number, and the other parts that all slides have."""
        slide = self.prs.slides.add_slide(next(one for one in self.prs.slide_layouts if one.name == layout))
        if slide.shapes.title is not None:
            slide.shapes.title.text = title
        for place in slide.slide_layout.placeholders:
            kind = place._element.ph.get("type")
            if kind == "sldNum" or (kind == "ftr" and self.footer):
                twin = copy.deepcopy(place._element)
                for gone in twin.xpath("./p:spPr/*") + twin.xpath("./p:txBody/a:lstStyle/*"):
                    gone.getparent().remove(gone)
                twin.nvSpPr.cNvPr.set("id", str(900 + len(slide.shapes)))
                slide.shapes._spTree.append(twin)
                if kind == "ftr":
                    slide.shapes[-1].text_frame.text = self.footer
        for place in list(slide.placeholders):
            if place.placeholder_format.idx == 20:
                if source:
                    place.text_frame.text = source
                else:
                    place._element.getparent().remove(place._element)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
        return slide

    def cover(self, title: str, subtitle: str = "", notes: str = "") -> Slide:
        """Adds the first slide."""
        slide = self.add("Cover", title, notes)
        self.fill(slide, 1, [subtitle])
        return slide

    def section(self, title: str, text: str = "", notes: str = "") -> Slide:
        """Adds a slide between parts, or the last slide with the decision."""
        slide = self.add("Section", title, notes)
        self.fill(slide, 1, [text])
        return slide

    def fill(self, slide: Slide, index: int, items: Items, may_be_large: bool = False) -> None:
        """Fills a placeholder with paragraphs. A pair is an item with subitems. Removes the placeholder if empty."""
        place = next(one for one in slide.placeholders if one.placeholder_format.idx == index)
        lines: list[tuple[int, str]] = []
        for one in items:
            head, below = (one, ()) if isinstance(one, str) else one
            lines += [(0, head)] if head else []
            lines += [(1, text) for text in below]
        if not lines:
            place._element.getparent().remove(place._element)
            return
        frame = place.text_frame
        frame.text = lines[0][1]
        for level, text in lines[1:]:
            paragraph = frame.add_paragraph()
            paragraph.text, paragraph.level = text, level
        if may_be_large and len(lines) <= LARGE_LINES and sum(len(text) for _, text in lines) <= LARGE_LETTERS:
            enlarge(frame)

    def bullets(self, title: str, items: Items, notes: str = "", source: str = "") -> Slide:
        """Adds a slide with three to six short items."""
        slide = self.add("Text", title, notes, source)
        self.fill(slide, 1, items)
        return slide

    def two(
        self, title: str, left: tuple[str, Items], right: tuple[str, Items], notes: str = "", source: str = ""
    ) -> Slide:
        """Adds a slide with two columns, each with a heading."""
        slide = self.add("Two columns", title, notes, source)
        for index, (head, items) in ((1, left), (3, right)):
            self.fill(slide, index, [head])
            self.fill(slide, index + 1, items, may_be_large=True)
        return slide

    def _with_thing(self, title: str, text: Items, notes: str, source: str) -> tuple[Slide, tuple[Emu, Emu, Emu, Emu]]:
        """Adds a slide with space for a chart, table or picture, and optionally text next to it."""
        slide = self.add("Chart and text" if text else "Chart", title, notes, source)
        if text:
            self.fill(slide, 2, text, may_be_large=True)
        place = next(one for one in slide.placeholders if one.placeholder_format.idx == 1)
        box = (place.left, place.top, place.width, place.height)
        place._element.getparent().remove(place._element)
        return slide, box

    def chart(
        self,
        title: str,
        kind: str,
        categories: Sequence[Any],
        series: dict[str, Sequence[float | None]],
        description: str,
        number_format: str = "#,##0",
        highlight: int | None = None,
        text: Items = (),
        source: str = "",
        notes: str = "",
    ) -> Slide:
        """Adds a native chart: `column`, `stacked`, `bar`, `line`, `area` or `doughnut`. `highlight` is an index."""
        slide, box = self._with_thing(title, text, notes, source)
        data = CategoryChartData(number_format=number_format)
        data.categories = categories
        for name, values in series.items():
            data.add_series(name, values)
        frame = slide.shapes.add_chart(KINDS[kind], *box, data)
        frame.name = "Chart"
        frame._element.nvGraphicFramePr.cNvPr.set("descr", description)
        style_chart(frame.chart, kind, number_format, highlight, len(categories) * len(series))
        return slide

    def table(
        self,
        title: str,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        description: str = "",
        total: bool = False,
        widths: Sequence[float] | None = None,
        text: Items = (),
        source: str = "",
        notes: str = "",
    ) -> Slide:
        """Adds a table of up to ten rows. Columns of numbers are right-aligned. `widths` are proportions."""
        slide, box = self._with_thing(title, text, notes, source)
        fill_table(slide, box, header, rows, total, widths, description or title)
        return slide

    def figures(
        self, title: str, figures: Sequence[tuple[str, str, str]], text: Items = (), notes: str = "", source: str = ""
    ) -> Slide:
        """Adds two to four figures side by side: value, label and remark."""
        slide = self.add("Title only", title, notes, source)
        add_figures(slide, figures, [one if isinstance(one, str) else one[0] for one in text])
        return slide

    def points(self, title: str, points: Sequence[tuple[str, str]], notes: str = "", source: str = "") -> Slide:
        """Adds two to five numbered points with a sentence each, over the whole slide."""
        slide = self.add("Title only", title, notes, source)
        add_points(slide, points)
        return slide

    def picture(
        self, title: str, path: str | Path, description: str, text: Items = (), notes: str = "", source: str = ""
    ) -> Slide:
        """Adds a complete picture, scaled to fit the available space."""
        slide, (left, top, width, height) = self._with_thing(title, text, notes, source)
        with Image.open(path) as image:
            ratio = image.width / image.height
        size = (width, int(width / ratio)) if width / ratio <= height else (int(height * ratio), height)
        x = left if text else left + (width - size[0]) // 2
        y = top if text else top + (height - size[1]) // 2
        shape = slide.shapes.add_picture(str(path), x, y, *size)
        shape._element.nvPicPr.cNvPr.set("descr", description)
        return slide

    def save(self, path: str | Path) -> None:
        """Writes the deck."""
        self.prs.save(str(path))
