"""Tests of workbooks: values computed in place, the house style, and the check."""

import zipfile

from support import ScriptTest, need

BOOK = """
import datetime
from house import Book
b = Book("Sales 2025", author="Finance")
n = b.assumptions("Inputs", [("Growth", 0.05, "0.0%", "a month"), ("Price", 3.2, "#,##0.00 €", "a cup"), ("Start", 900, "#,##0", "")])
rows = [[datetime.date(2025, i, 1), f"={n['Start']}" if i == 1 else f"=ROUND(B{i}*(1+{n['Growth']}),0)",
         f"=B{i + 1}*{n['Price']}", f'=IF(C{i + 1}>B{i + 1},"high","low")', f"=C{i + 1}>B{i + 1}"] for i in range(1, 7)]
s = b.table("Plan", ["Month", "Cups", "Sales", "Level", "High"], rows, formats=["mmm yyyy", "#,##0", "#,##0 €", "General", "General"], total="sum")
b.bars(s, "C2:C7"); b.scale(s, "B2:B7"); b.highlight(s, "B2:B7", "B2>1000", bad=False)
b.choices(s, "F2:F7", ["open", "done"]); b.between(b.book["Inputs"], "B2", 0, 1)
b.chart(s, "column", "A2:A7", ["C1:C7"], "Sales", description="Columns rise", at="H2")
b.notes("Notes", ["Source: ledger."])
b.save("book.xlsx")
"""


class SpreadsheetTest(ScriptTest):
    skill = "spreadsheet"

    def test_values_are_in_the_file_and_nothing_else_changes(self) -> None:
        need("soffice", "pdftoppm", "fc-list")
        self.python(BOOK)
        before = self.run_script("check_book.py", "book.xlsx")
        self.assertEqual(before.returncode, 1)
        self.assertIn("Plan!B2 has no stored value", before.stdout)
        with zipfile.ZipFile(self.folder / "book.xlsx") as package:
            styles, chart = package.read("xl/styles.xml"), package.read("xl/charts/chart1.xml")
        self.assertIn("28 formulas computed, 0 errors", self.ok("recalc.py", "book.xlsx"))
        shown = self.python(
            "from openpyxl import load_workbook\n"
            "s = load_workbook('book.xlsx', data_only=True)['Plan']\n"
            "print([c.value for c in s[3]], s['B8'].value, s['C8'].value)\n"
            "f = load_workbook('book.xlsx')['Plan']\n"
            "print(f['C3'].value, f.conditional_formatting and f.data_validations.count, len(f._charts))\n"
        )
        self.assertIn("945, 3024, 'high', True] 6122 19590.4", shown)
        self.assertIn("=B3*'Inputs'!$B$3 1 1", shown)
        with zipfile.ZipFile(self.folder / "book.xlsx") as package:
            self.assertEqual((styles, chart), (package.read("xl/styles.xml"), package.read("xl/charts/chart1.xml")))
            self.assertIn(b'descr="Columns rise"', package.read("xl/drawings/drawing1.xml"))
        self.assertIn("0 errors, 0 warnings; 3 pages", self.ok("check_book.py", "book.xlsx", "--draw", "pages"))

    def test_errors_are_listed_with_their_formulas(self) -> None:
        need("soffice")
        self.python(
            "from openpyxl import Workbook\n"
            "b = Workbook(); s = b.active\n"
            "s.append([1, 0, '=A1/B1', '=NOSUCH(A1)', '=XLOOKUP(1,A1:A1,A1:A1)', '=A1*1.19', '12.5', 'x \\U000f0000'])\n"
            "s.append([1234567890.123]); s['A2'].number_format = '#,##0.00'\n"
            "b.save('bad.xlsx')"
        )
        done = self.run_script("recalc.py", "bad.xlsx", "out.xlsx")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: Sheet!C1: #DIV/0!  =A1/B1\n", done.stdout)
        self.assertIn("error: Sheet!D1: #NAME?", done.stdout)
        self.assertIn("warning: Sheet!E1 has a function", done.stdout)
        found = self.run_script("check_book.py", "out.xlsx")
        for part in (
            "Sheet!C1: #DIV/0!",
            "constant 1.19",
            "number stored as text: '12.5'",
            "column A is too narrow",
            "U+F0000",
        ):
            self.assertIn(part, found.stdout)

    def test_hostile_files_are_refused_in_one_line(self) -> None:
        for path in self.hostile_packages("xl/workbook.xml", "xlsx"):
            self.fails("recalc.py", path, "x.xlsx")
            self.fails("check_book.py", path)
        self.assertFalse((self.folder / "x.xlsx").exists())
