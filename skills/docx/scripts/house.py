"""The house style for Word documents: a module for your own script, based on python-docx.

    sys.path.insert(0, "skill/scripts")
    from house import Report

    r = Report("Sales in 2025", author="Finance", language="en-GB", paper="a4")
    r.title("Coffee grew by a third", "Report for the board, March 2026")
    r.heading("What happened")
    r.text("Sales reached **161,006 euros**, see [the ledger](https://example.org).")
    r.bullets(["first", "second"])
    r.table(["Month", "Sales"], [["January", "12,300"], ["Sum", "12,300"]], total=True, caption="Sales by month")
    r.picture("chart.png", "Columns: sales rise from 9 to 14 thousand euros", width_cm=16, caption="Sales")
    r.save("report.docx")

`r.document` is the python-docx document, for everything else.
"""

import re
from pathlib import Path

from docx import Document
from docx.enum.section import WD_ORIENT, WD_SECTION
from docx.enum.table import WD_TABLE_ALIGNMENT
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_BREAK, WD_TAB_ALIGNMENT
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Cm, Length, Pt
from docx.text.paragraph import Paragraph
from styles import INK, PALE, RULE, apply_styles, set_font

PAPERS = {"a4": (Cm(21), Cm(29.7)), "letter": (Cm(21.59), Cm(27.94))}
INLINE = re.compile(r"\*\*(.+?)\*\*|\*(.+?)\*|\[([^\]]+)\]\(([^)\s]+)\)")
NUMBER = re.compile(r"[-+−–]?[€$£]?\s?\d[\d.,'\s\u00a0\u202f]*\s?(?:%|€|[A-Z]{3}|[a-zµ]{1,3})?|[-–—]?")


def new_document(title: str, author: str, language: str, paper: str, font: str, accent: str) -> Document:
    """Creates an empty document with all styles, on A4 or Letter."""
    document = Document()
    apply_styles(document, font, accent, language)
    core = document.core_properties
    core.title, core.author, core.comments, core.language = title, author, "", language
    section = document.sections[0]
    section.page_width, section.page_height = PAPERS[paper]
    section.left_margin = section.right_margin = Cm(2.4)
    section.top_margin, section.bottom_margin = Cm(2.3), Cm(2.2)
    section.header_distance = section.footer_distance = Cm(1.1)
    return document


def add_field(paragraph: Paragraph, instruction: str, shown: str) -> None:
    """Adds a field such as ` PAGE `, with a text that is shown until the field is updated."""
    for kind in ("begin", None, "separate", "shown", "end"):
        run = paragraph.add_run()
        if kind == "shown":
            run.text = shown
        elif kind is None:
            code = OxmlElement("w:instrText")
            code.set(qn("xml:space"), "preserve")
            code.text = instruction
            run._r.append(code)
        else:
            mark = OxmlElement("w:fldChar")
            mark.set(qn("w:fldCharType"), kind)
            run._r.append(mark)


def add_link(paragraph: Paragraph, text: str, url: str) -> None:
    """Adds a link to the end of a paragraph."""
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(url, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run = paragraph.add_run(text, style="Hyperlink")
    link.append(run._r)
    paragraph._p.append(link)


def add_inline(paragraph: Paragraph, text: str) -> None:
    """Adds text with `**bold**`, `*italic*` and `[text](address)`."""
    at = 0
    for found in INLINE.finditer(text):
        paragraph.add_run(text[at : found.start()])
        at = found.end()
        bold, italic, label, url = found.groups()
        if url:
            add_link(paragraph, label, url)
        elif bold:
            paragraph.add_run(bold).bold = True
        else:
            paragraph.add_run(italic).italic = True
    paragraph.add_run(text[at:])


class Report:
    """A document that is written from top to bottom."""

    def __init__(
        self,
        title: str,
        author: str = "",
        language: str = "en-GB",
        paper: str = "a4",
        font: str = "Calibri",
        accent: str = "1F5A7A",
    ) -> None:
        self.document = new_document(title, author, language, paper, font, accent)
        self.accent = accent
        self._counts: dict[str, int] = {}
        self.footer(title)

    @property
    def text_width(self) -> Length:
        """The width between the margins."""
        section = self.document.sections[-1]
        return Length(section.page_width - section.left_margin - section.right_margin)

    def footer(self, text: str, page: str = "Page", of: str = "of") -> None:
        """Sets a footer with a text on the left and `Page 1 of 9` on the right."""
        paragraph = self.document.sections[-1].footer.paragraphs[0]
        paragraph.text = ""
        paragraph.paragraph_format.tab_stops.add_tab_stop(self.text_width, WD_TAB_ALIGNMENT.RIGHT)
        paragraph.add_run(f"{text}\t{page} ")
        add_field(paragraph, " PAGE ", "1")
        paragraph.add_run(f" {of} ")
        add_field(paragraph, " NUMPAGES ", "1")

    def title(self, text: str, subtitle: str = "") -> None:
        """Adds the title, with a subtitle below it."""
        self.document.add_paragraph(text, style="Title")
        if subtitle:
            self.document.add_paragraph(subtitle, style="Subtitle")

    def heading(self, text: str, level: int = 1) -> None:
        """Adds a heading of level 1 to 3."""
        self.document.add_heading(text, level)

    def text(self, text: str, style: str = "Normal") -> Paragraph:
        """Adds a paragraph with `**bold**`, `*italic*` and `[text](address)`."""
        paragraph = self.document.add_paragraph(style=style)
        add_inline(paragraph, text)
        return paragraph

    def note(self, text: str) -> None:
        """Adds a highlighted paragraph, for decisions and warnings."""
        self.text(text, "House Note")

    def bullets(self, items: list[str], level: int = 1) -> None:
        """Adds a list with bullets."""
        for item in items:
            self.text(item, "List Bullet" if level == 1 else f"List Bullet {level}")

    def steps(self, items: list[str]) -> None:
        """Adds a numbered list, which starts at 1."""
        numbering = self.document.part.numbering_part.numbering_definitions._numbering
        style = self.document.styles["List Number"].element.pPr.numPr.numId.val
        number = numbering.add_num(numbering.num_having_numId(style).abstractNumId.val)
        number.add_lvlOverride(ilvl=0).add_startOverride(1)
        for item in items:
            paragraph = self.text(item, "List Number")
            paragraph._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = number.numId

    def caption(self, text: str, kind: str = "Table", keep: bool = True) -> None:
        """Adds a numbered caption. It stays with the table below it. For one below a picture, use `keep=False`."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        paragraph = self.document.add_paragraph(f"{kind} ", style="Caption")
        add_field(paragraph, f" SEQ {kind} \\* ARABIC ", str(self._counts[kind]))
        paragraph.add_run(f"  {text}")
        paragraph.paragraph_format.keep_with_next = keep

    def table(
        self,
        header: list[str],
        rows: list[list[str]],
        widths_cm: list[float] | None = None,
        total: bool = False,
        caption: str = "",
    ) -> None:
        """Adds a table. Columns of numbers are right-aligned. With `total`, the last row is the sum."""
        if any(len(row) != len(header) for row in rows):
            raise ValueError(f"each row needs {len(header)} cells")
        if caption:
            self.caption(caption)
        table = self.document.add_table(rows=0, cols=len(header), style="House Table")
        table.alignment, table.autofit = WD_TABLE_ALIGNMENT.LEFT, False
        right = [
            bool(rows) and all(NUMBER.fullmatch(str(row[at]).strip()) for row in rows) for at in range(len(header))
        ]
        widths = [Cm(width) for width in widths_cm] if widths_cm else self._widths(header, rows)
        for grid, width in zip(table._tbl.tblGrid.gridCol_lst, widths, strict=True):
            grid.w = width
        for index, row in enumerate([header, *rows]):
            is_sum = total and index == len(rows)
            cells = table.add_row().cells
            for cell, text, width, is_right in zip(cells, row, widths, right, strict=True):
                cell.width = width
                paragraph = cell.paragraphs[0]
                paragraph.style = "House Table Head" if index == 0 else "House Table Text"
                add_inline(paragraph, f"**{text}**" if is_sum and str(text) else str(text))
                if is_right:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                if index == 0 or is_sum:
                    shade = f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{PALE}"/>'
                    cell._tc.get_or_add_tcPr().append(parse_xml(shade))
                if index < len(rows) and (len(rows) <= 8 or index == 0 or index > len(rows) - 4):
                    paragraph.paragraph_format.keep_with_next = True
            properties = table.rows[-1]._tr.get_or_add_trPr()
            properties.append(OxmlElement("w:cantSplit"))
            if index == 0:
                properties.append(OxmlElement("w:tblHeader"))
        self.document.add_paragraph(style="House After Table")

    def _widths(self, header: list[str], rows: list[list[str]]) -> list[Length]:
        """Returns widths by the longest text of each column, from 6 to 40 characters. Narrow tables stay narrow."""
        longest = [max(len(str(row[at])) for row in [header, *rows]) for at in range(len(header))]
        wanted = [min(max(chars, 6), 40) * Pt(5.6) + Cm(0.7) for chars in longest]
        scale = self.text_width / sum(wanted)
        scale = scale if scale < 1.7 else 1.2
        return [Length(int(width * scale)) for width in wanted]

    def picture(self, path: str | Path, description: str, width_cm: float = 16, caption: str = "") -> None:
        """Adds a picture, at most as wide as the text. The description is for readers who cannot see it."""
        width = min(Cm(width_cm), self.text_width)
        paragraph = self.document.add_paragraph(style="House Picture")
        paragraph.paragraph_format.keep_with_next = bool(caption)
        shape = paragraph.add_run().add_picture(str(path), width=width)
        shape._inline.docPr.set("descr", description)
        if caption:
            self.caption(caption, "Figure", keep=False)

    def page_break(self) -> None:
        """Starts a new page."""
        self.document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)

    def turn(self) -> None:
        """Starts a page in the other orientation, such as for a wide table. A second call turns back."""
        section = self.document.add_section(WD_SECTION.NEW_PAGE)
        section.page_width, section.page_height = section.page_height, section.page_width
        is_wide = section.page_width > section.page_height
        section.orientation = WD_ORIENT.LANDSCAPE if is_wide else WD_ORIENT.PORTRAIT

    def save(self, path: str | Path) -> None:
        """Writes the document."""
        self.document.save(str(path))


__all__ = ["INK", "PALE", "RULE", "Report", "add_field", "add_inline", "add_link", "new_document", "set_font"]
