"""Tests of SQLite: CSV with types, texts with figures from queries, and charts of queries."""

import sqlite3
from typing import Any

from support import SKILLS, ScriptTest

MIXED = """id;plz;Datum;Betrag;Menge;Anteil;Note;Datum
1;01067;31.01.2025;1.234,50 €;1.000;5 %;ok;2025-01-01
2;80331;5.2.2025;−99,90 €;2.500;12 %;n/a;2025-02-01
3;10115;;- ;n/a;;"a ""b"", c";NULL
"""


class SqliteTest(ScriptTest):
    skill = "sqlite"

    def rows(self, query: str, name: str = "w.db") -> list[Any]:
        return sqlite3.connect(self.folder / name).execute(query).fetchall()

    def test_columns_get_the_type_that_all_values_have(self) -> None:
        (self.folder / "Sales 2025.csv").write_text(
            "\ufeff" + MIXED.replace("\n", "\r\n"), encoding="utf-8", newline=""
        )
        shown = self.ok("load.py", "w.db", "Sales 2025.csv")
        self.assertNotIn("warning", shown)
        self.assertIn('"plz" text (leading zeros kept)', shown)
        self.assertEqual(
            self.rows("select * from sales_2025"),
            [
                (1, "01067", "2025-01-31", 1234.5, 1000, 5, "ok", "2025-01-01"),
                (2, "80331", "2025-02-05", -99.9, 2500, 12, "n/a", "2025-02-01"),
                (3, "10115", None, None, None, None, 'a "b", c', None),
            ],
        )
        self.assertEqual(self.rows("select distinct typeof(Betrag) from sales_2025 where id < 3"), [("real",)])

    def test_what_is_ambiguous_stays_text_until_it_is_decided(self) -> None:
        (self.folder / "a.csv").write_text('when,p\n01/02/2025,"1,234"\n03/04/2025,"2,345"\n')
        shown = self.ok("load.py", "w.db", "a.csv")
        self.assertIn("01/02/2025 can be two dates: --dates dmy or --dates mdy", shown)
        self.assertIn("1,234 can be a decimal or thousands: --decimal . or --decimal ,", shown)
        self.assertEqual(self.rows("select * from a")[0], ("01/02/2025", "1,234"))
        self.ok("load.py", "mdy.db", "a.csv", "--dates", "mdy", "--decimal", ".")
        self.assertEqual(self.rows("select * from a", "mdy.db")[0], ("2025-01-02", 1234))
        (self.folder / "b.csv").write_text("when\n13/02/2025\n03/04/2025\n")
        self.ok("load.py", "b.db", "b.csv")
        self.assertEqual(self.rows("select * from b", "b.db")[1], ("2025-04-03",))

    def test_numbers_that_no_type_can_hold_stay_text(self) -> None:
        (self.folder / "n.csv").write_text("a;b;c\n1 234;12345678901234567890;1e3\n5;3;2.5\n")
        self.assertIn('"b" text (kept as text: more than 18 digits)', self.ok("load.py", "w.db", "n.csv"))
        self.assertEqual(self.rows("select * from n")[0], (1234, "12345678901234567890", 1000.0))

    def test_files_that_are_not_as_they_should_be_are_refused_and_leave_nothing(self) -> None:
        (self.folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
        (self.folder / "quote.csv").write_text('a,b\n1,"2\n')
        (self.folder / "bin.csv").write_bytes(b"a\0b")
        (self.folder / "empty.csv").write_text("\n")
        for name, part in (
            ("ragged.csv", "line 3 has 1 fields, the header 2"),
            ("quote.csv", "unexpected end of data"),
            ("bin.csv", "it is not a text"),
            ("empty.csv", "it is empty"),
            ("missing.csv", "there is no such file"),
        ):
            self.assertIn(part, self.fails("load.py", "w.db", name))
            self.assertFalse((self.folder / "w.db").exists())
        (self.folder / "w.db").write_text("")
        self.assertIn("it exists already", self.fails("load.py", "w.db", "ragged.csv"))

    def test_a_text_gets_its_figures_from_queries(self) -> None:
        (self.folder / "s.csv").write_text("month,p\n2025-01,0.1\n2025-02,0.2\n2025-03,1234567\n")
        self.ok("load.py", "w.db", "s.csv")
        text = "Sum {{select sum(p) from s where p < 1}}, {{select printf('%,d', max(p))\nfrom s}}, {{select null}}.\n\n{{select * from s}}\n"
        (self.folder / "t.md").write_text(text)
        shown = self.ok("fill.py", "w.db", "t.md")
        self.assertIn("Sum 0.3, 1,234,567, –.\n\n| month | p |\n|---|---:|\n| 2025-01 | 0.1 |", shown)
        self.assertIn("4 queries filled in", self.ok("fill.py", "w.db", "t.md", "out.md"))
        for wrong, part in (
            ("{{delete from s}}", "readonly"),
            ("{{select missing_column from s}}", "no such column"),
            ("{{select p from s where p < 0}}", "it has no rows"),
            ("none", "it has no {{select"),
        ):
            (self.folder / "u.md").write_text(wrong)
            self.assertIn(part, self.fails("fill.py", "w.db", "u.md"))
        self.assertEqual(self.rows("select count(*) from s"), [(3,)])

    def test_a_query_becomes_a_chart(self) -> None:
        (self.folder / "s.csv").write_text("shop,sales,cost\nNorth,10,4\nSouth,,5\n")
        self.ok("load.py", "w.db", "s.csv")
        options = ("--title", "North sells most", "--subtitle", "Euros")
        query = "select shop, coalesce(sales, 0) as sales, cost from s"
        for kind, asked in (("columns", query), ("lines", query), ("bars", "select shop, cost from s")):
            self.ok("query_chart.py", "w.db", asked, f"{kind}.png", "--kind", kind, *options)
            size = self.python(f"from PIL import Image\nprint(Image.open('{kind}.png').size)")
            self.assertEqual(size.strip(), "(1920, 1080)")
        for asked, part in (
            ("select shop, sales from s", "sales is None at South"),
            ("select shop from s", "one or more of numbers"),
            ("select shop, cost from s where cost < 0", "at least one row"),
        ):
            self.assertIn(part, self.fails("query_chart.py", "w.db", asked, "x.png", *options))

    def test_the_charts_are_those_of_the_skill_image(self) -> None:
        for name in ("scripts/chart.py", "assets/house.mplstyle"):
            self.assertEqual((SKILLS / "sqlite" / name).read_text(), (SKILLS / "image" / name).read_text(), name)

    def test_a_file_that_is_not_a_database_is_refused(self) -> None:
        (self.folder / "t.md").write_text("{{select 1}}")
        self.assertIn("not a SQLite database", self.fails("fill.py", "t.md", "t.md"))
        self.assertIn("there is no such file", self.fails("fill.py", "none.db", "t.md"))
