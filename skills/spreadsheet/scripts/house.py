"""The house style for workbooks: a module for your own script, based on openpyxl.

    sys.path.insert(0, "skill/scripts")
    from house import Book

    b = Book("Sales 2025", author="Finance")
    names = b.assumptions("Inputs", [("Growth", 0.05, "0.0%", "a year"), ("Price", 3.2, "#,##0.00 €", "a cup")])
    s = b.table("Sales", ["Month", "Cups", "Sales"], rows, formats=["mmm yyyy", "#,##0", "#,##0 €"], total="sum")
    b.bars(s, "B2:B13")                                # data bars
    b.highlight(s, "C2:C13", "C2<0", bad=True)         # a rule by formula
    b.choices(s, "D2:D13", ["open", "done"])           # a list of options
    b.chart(s, "line", "A2:A13", ["C1:C13"], title="Sales a month", axis="€", at="F2",
            description="Line: sales rise from 9 to 14 thousand euros")
    b.save("sales.xlsx")                               # then skill/scripts/recalc.py sales.xlsx

`b.book` is the openpyxl workbook, `s` a worksheet. A text that begins with `=` is a formula.
"""

import datetime
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree
from openpyxl import Workbook
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import CharacterProperties, Paragraph, ParagraphProperties
from openpyxl.formatting.rule import ColorScaleRule, DataBarRule, FormulaRule
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter, quote_sheetname, range_boundaries
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.worksheet import Worksheet

INK, PALE, RULE = "FF1B2733", "FFEEF2F5", "FFC5CED6"
INPUT = "FF1F4FB5"
SERIES = ["1F5A7A", "C8643C", "7A8996", "4F8A5B", "B3872B", "6F5A94"]
SHEETS = "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"


def shown_width(value: object, number_format: str) -> int:
    """Returns the approximate number of characters that a cell shows."""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return max(len(number_format), 10)
    if isinstance(value, str) and value.startswith("="):
        return 12
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        decimals = len(number_format.split(".")[1].rstrip(" €$%\"'")) if "." in number_format else 0
        return len(f"{value:,.{decimals}f}") + (2 if number_format[-1:] in "€%$" else 0)
    return max((len(line) for line in str(value or "").split("\n")), default=0)


def aligned(side: str, wrap_text: bool = False) -> Alignment:
    """Returns an alignment. Only texts are indented, because LibreOffice does not indent all numbers."""
    indent = 1 if side == "left" else 0
    return Alignment(horizontal=side, vertical="center", wrap_text=wrap_text, indent=indent)


class Book:
    """A workbook in the house style."""

    def __init__(self, title: str, author: str = "", font: str = "Calibri", accent: str = "1F5A7A") -> None:
        self.book = Workbook()
        self.book.remove(self.book.active)
        self.book.properties.title, self.book.properties.creator = title, author
        self.font, self.accent = font, accent
        self._descriptions: dict[str, list[str]] = {}
        normal = self.book._named_styles["Normal"]
        normal.font = Font(name=font, size=11, color=INK)

    def _sheet(self, name: str) -> Worksheet:
        sheet = self.book.create_sheet(name)
        sheet.sheet_view.showGridLines = False
        sheet.sheet_format.defaultRowHeight, sheet.sheet_format.customHeight = 18, True
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        sheet.page_setup.paperSize, sheet.page_setup.fitToHeight = sheet.PAPERSIZE_A4, 0
        sheet.page_margins.left = sheet.page_margins.right = 0.5
        sheet.oddFooter.left.text, sheet.oddFooter.right.text = "&A", "&P / &N"
        return sheet

    def _head(self, sheet: Worksheet, row: int, columns: int) -> None:
        for at in range(1, columns + 1):
            cell = sheet.cell(row, at)
            cell.font = Font(name=self.font, size=11, bold=True, color=INK)
            cell.fill = PatternFill("solid", fgColor=PALE)
            cell.border = Border(bottom=Side("medium", color=f"FF{self.accent}"))
            cell.alignment = aligned(cell.alignment.horizontal or "left", wrap_text=True)
        sheet.row_dimensions[row].height = 22

    def table(
        self,
        name: str,
        header: Sequence[str],
        rows: Sequence[Sequence[Any]],
        formats: Sequence[str] | None = None,
        total: str = "",
        landscape: bool = False,
    ) -> Worksheet:
        """Adds a sheet with a table from A1: filter, frozen header, widths. `total="sum"` adds a row of sums below."""
        sheet = self._sheet(name)
        if any(len(row) != len(header) for row in rows):
            raise ValueError(f"each row of {name!r} needs {len(header)} cells")
        shapes = list(formats) if formats else ["General"] * len(header)
        sheet.append(list(header))
        for row in rows:
            sheet.append(list(row))
        last = len(rows) + 1
        for at, number_format in enumerate(shapes, 1):
            values = [row[at - 1] for row in rows]
            is_text = all(isinstance(one, str) and not one.startswith("=") for one in values)
            is_label = at == 1 and all(isinstance(one, datetime.date) for one in values)
            side = "left" if is_text or is_label else "right"
            sheet.cell(1, at).alignment = aligned(side)
            for row_number in range(2, last + 1):
                cell = sheet.cell(row_number, at)
                cell.number_format = number_format
                cell.alignment = aligned(side)
                cell.border = Border(bottom=Side("hair", color=RULE))
            widest = max([len(str(header[at - 1])), *(shown_width(one, number_format) for one in values)])
            sheet.column_dimensions[get_column_letter(at)].width = min(max(widest + 4, 9), 48)
        self._head(sheet, 1, len(header))
        sheet.freeze_panes = "B2"
        sheet.auto_filter.ref = f"A1:{get_column_letter(len(header))}{last}"
        sheet.print_title_rows = "1:1"
        sheet.page_setup.orientation = "landscape" if landscape or len(header) > 7 else "portrait"
        if total == "sum":
            self._total(sheet, rows, shapes, last)
        return sheet

    def _total(self, sheet: Worksheet, rows: Sequence[Sequence[Any]], shapes: list[str], last: int) -> None:
        row = last + 1
        sheet.cell(row, 1, "Sum")
        for at, number_format in enumerate(shapes, 1):
            cell = sheet.cell(row, at)
            letter = get_column_letter(at)
            values = [one[at - 1] for one in rows]
            is_amount = all(isinstance(one, (int, float)) or str(one).startswith("=") for one in values)
            if at > 1 and is_amount and "%" not in number_format:
                cell.value, cell.number_format = f"=SUM({letter}2:{letter}{last})", number_format
            cell.font = Font(name=self.font, size=11, bold=True, color=INK)
            cell.border = Border(top=Side("thin", color=INK), bottom=Side("double", color=INK))
            cell.alignment = aligned("left" if at == 1 else "right")

    def assumptions(self, name: str, items: Sequence[tuple[str, Any, str, str]]) -> dict[str, str]:
        """Adds a sheet of inputs, in blue: label, value, format, remark. Returns the absolute references by label."""
        sheet = self._sheet(name)
        sheet.append(["Input", "Value", "Remark"])
        found = {}
        for row, (label, value, number_format, remark) in enumerate(items, 2):
            sheet.append([label, value, remark])
            cell = sheet.cell(row, 2)
            cell.number_format, cell.font = number_format, Font(name=self.font, size=11, color=INPUT)
            cell.fill = PatternFill("solid", fgColor="FFFFF9E5")
            cell.border = Border(bottom=Side("hair", color=RULE))
            found[label] = f"{quote_sheetname(name)}!$B${row}"
            plain = "".join(one if one.isalnum() else "_" for one in label)
            if plain and not plain[0].isdigit():
                self.book.defined_names.append(DefinedName(f"in_{plain}", attr_text=found[label]))
        widths = [max(len(label) for label, *_ in items) + 4, 14, max(len(remark) for *_, remark in items) + 4]
        for at, width in enumerate(widths, 1):
            sheet.column_dimensions[get_column_letter(at)].width = min(max(width, 12), 70)
        for row in sheet.iter_rows():
            for cell in row:
                cell.alignment = aligned("right" if cell.column == 2 else "left")
        self._head(sheet, 1, 3)
        sheet.freeze_panes = "A2"
        return found

    def notes(self, name: str, lines: Sequence[str]) -> Worksheet:
        """Adds a sheet with text, such as source, method and data cleaning."""
        sheet = self._sheet(name)
        for row, line in enumerate(lines, 1):
            sheet.cell(row, 1, line).alignment = Alignment(wrap_text=True, vertical="top")
        sheet.column_dimensions["A"].width = 100
        return sheet

    def bars(self, sheet: Worksheet, cells: str) -> None:
        """Adds data bars from zero."""
        low = "num" if min(_numbers(sheet, cells), default=0) >= 0 else "min"
        rule = DataBarRule(start_type=low, start_value=0, end_type="max", color="FF9CC3DA")
        sheet.conditional_formatting.add(cells, rule)

    def scale(self, sheet: Worksheet, cells: str) -> None:
        """Adds a colour scale from white for the lowest to blue for the highest value."""
        rule = ColorScaleRule(start_type="min", start_color="FFFFFFFF", end_type="max", end_color="FF9CC3DA")
        sheet.conditional_formatting.add(cells, rule)

    def highlight(self, sheet: Worksheet, cells: str, formula: str, bad: bool = True) -> None:
        """Adds a colour where a formula is true. Write the formula for the first cell, such as `C2<0`."""
        ink, ground = ("FF9B1C1C", "FFFBE4E1") if bad else ("FF1E6B3A", "FFE1F3E7")
        rule = FormulaRule([formula], font=Font(color=ink, bold=True), fill=PatternFill(bgColor=ground))
        sheet.conditional_formatting.add(cells, rule)

    def choices(self, sheet: Worksheet, cells: str, options: Sequence[str]) -> None:
        """Adds a list of options. For a long list, use a range on a sheet, with a reference as formula1."""
        joined = ",".join(options)
        if any("," in one or '"' in one for one in options) or len(joined) > 250:
            raise ValueError("options with commas or quotes, or more than 250 characters, need a range")
        rule = DataValidation(type="list", formula1=f'"{joined}"', allow_blank=True)
        self._validate(sheet, cells, rule, f"Please choose: {joined}")

    def between(self, sheet: Worksheet, cells: str, low: float, high: float) -> None:
        """Limits cells to numbers within a range."""
        rule = DataValidation(type="decimal", operator="between", formula1=str(low), formula2=str(high))
        self._validate(sheet, cells, rule, f"A number from {low:g} to {high:g}")

    def _validate(self, sheet: Worksheet, cells: str, rule: DataValidation, message: str) -> None:
        rule.error, rule.errorTitle, rule.showErrorMessage = message[:250], "Not allowed", True
        sheet.add_data_validation(rule)
        rule.add(cells)

    def chart(
        self,
        sheet: Worksheet,
        kind: str,
        categories: str,
        series: Sequence[str],
        title: str,
        description: str,
        axis: str = "",
        at: str = "F2",
        size_cm: tuple[float, float] = (18, 9),
        number_format: str = "#,##0",
    ) -> Any:
        """Adds a `line`, `column` or `bar` chart. Each series is a range with its header, the categories without."""
        chart: Any = LineChart() if kind == "line" else BarChart()
        if kind != "line":
            chart.type, chart.gapWidth = ("bar" if kind == "bar" else "col"), 60
        for number, cells in enumerate(series):
            left, top, right, bottom = range_boundaries(cells)
            chart.add_data(Reference(sheet, left, top, right, bottom), titles_from_data=True)
            one, color = chart.series[-1], SERIES[number % len(SERIES)]
            if kind == "line":
                one.graphicalProperties.line.solidFill, one.graphicalProperties.line.width = color, 28575
                one.smooth = False
                one.marker.symbol = "none"
            else:
                one.graphicalProperties.solidFill = color
        left, top, right, bottom = range_boundaries(categories)
        chart.set_categories(Reference(sheet, left, top, right, bottom))
        chart.title, chart.width, chart.height = title, *size_cm
        chart.title.tx.rich.p[0].pPr = ParagraphProperties(defRPr=CharacterProperties(sz=1300, b=True))
        for run in chart.title.tx.rich.p[0].r:
            run.rPr = CharacterProperties(sz=1300, b=True, solidFill=INK[2:])
        chart.title.overlay = False
        chart.y_axis.title, chart.x_axis.title = axis or None, None
        chart.y_axis.number_format, chart.y_axis.numFmt.sourceLinked = number_format, False
        chart.x_axis.number_format = sheet.cell(top, left).number_format
        if isinstance(sheet.cell(top, left).value, datetime.date):
            chart.x_axis.numFmt.sourceLinked = True
        chart.x_axis.delete = chart.y_axis.delete = False
        chart.x_axis.majorTickMark = chart.y_axis.majorTickMark = "none"
        chart.y_axis.majorGridlines.spPr = GraphicalProperties(ln=LineProperties(solidFill="DDE2E7"))
        chart.y_axis.spPr = GraphicalProperties(ln=LineProperties(noFill=True))
        chart.x_axis.spPr = GraphicalProperties(ln=LineProperties(solidFill="A9B4BE"))
        small = CharacterProperties(sz=1000, solidFill="47545F")
        for one_axis in (chart.x_axis, chart.y_axis):
            one_axis.txPr = RichText(p=[Paragraph(pPr=ParagraphProperties(defRPr=small), endParaRPr=small)])
        if len(series) == 1:
            chart.legend = None
        else:
            chart.legend.position = "b"
        sheet.add_chart(chart, at)
        sheet.page_setup.orientation = "landscape"
        if sheet.max_row <= 45:
            sheet.page_setup.fitToHeight = 1
        self._descriptions.setdefault(sheet.title, []).append(description)
        return chart

    def save(self, path: str | Path) -> None:
        """Writes the workbook, with the descriptions of its charts."""
        out = Path(path)
        self.book.save(out)
        describe_charts(out, [one for sheet in self.book for one in self._descriptions.get(sheet.title, [])])


def describe_charts(path: Path, descriptions: Sequence[str]) -> None:
    """Writes the descriptions of charts, in the order of the sheets. openpyxl does not support descriptions."""
    if not descriptions:
        return
    with zipfile.ZipFile(path) as package:
        parts = {entry.filename: package.read(entry) for entry in package.infolist()}
    names = [one for one in parts if one.startswith("xl/drawings/drawing")]
    waiting = iter(descriptions)
    for name in sorted(names, key=lambda one: int("".join(filter(str.isdigit, one)))):
        tree = etree.fromstring(parts[name])
        for entry in tree.iter(f"{{{SHEETS}}}graphicFrame"):
            entry.find(f".//{{{SHEETS}}}cNvPr").set("descr", next(waiting, ""))
        parts[name] = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in parts.items():
            package.writestr(name, data)


def _numbers(sheet: Worksheet, cells: str) -> list[float]:
    return [one.value for row in sheet[cells] for one in row if isinstance(one.value, (int, float))]
