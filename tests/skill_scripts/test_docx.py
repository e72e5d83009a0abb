"""Tests of Word documents: the house style, tracked changes, comments, contents and the validator."""

import json
import zipfile

from support import ScriptTest, need

REPORT = """
from house import Report
r = Report("Bakery report", author="Finance", language="en-GB", paper="{paper}")
r.title("Coffee grew by a third", "March 2026")
r.text("[TOC]")
r.heading("What happened")
r.text("Payment is due within **30 days** of the invoice, see [the ledger](https://example.org).")
r.bullets(["Coffee grew", "Bread stayed"])
r.table(["Month", "Sales"], [["January", "12,300"], ["February", "11,100"], ["Sum", "23,400"]], total=True, caption="Sales")
r.picture("bars.png", "A blue area", width_cm=12, caption="Sales")
r.heading("Next steps")
r.steps(["Hire", "Open"])
r.text("Then:")
r.steps(["Review"])
r.page_break()
r.heading("Method", 1)
r.heading("Sources", 2)
r.text("Payment is due within 30 days, 日本語.")
r.save("report.docx")
"""


class DocxTest(ScriptTest):
    skill = "docx"

    def report(self, paper: str = "a4") -> None:
        self.picture()
        self.python(REPORT.format(paper=paper))

    def test_a_report_is_valid_and_its_contents_have_the_pages_of_its_headings(self) -> None:
        need("soffice", "pdftoppm", "fc-list")
        self.report()
        self.assertIn("3 entries on pages 1 to 2", self.ok("toc.py", "report.docx", "toc.docx", "--levels", "1"))
        self.assertIn("0 errors, 0 warnings", self.ok("validate.py", "toc.docx"))
        shown = self.python(
            "from docx import Document\n"
            "d = Document('toc.docx')\n"
            "s = d.sections[0]\n"
            "print(round(s.page_width.cm, 1), round(s.page_height.cm, 1))\n"
            "from word import Package, paragraph_text, w\nfrom pathlib import Path\n"
            "print([paragraph_text(p) for p in Package(Path('toc.docx')).tree().iter(w('p'))])\n"
        )
        self.assertIn("21.0 29.7", shown)
        self.assertIn("'What happened\\t1', 'Next steps\\t1', 'Method\\t2'", shown)
        self.assertNotIn("[TOC]", shown)
        self.assertIn("2 pages", self.ok("render.py", "toc.docx", "--out", "pages"))
        self.assertTrue((self.folder / "pages/sheet.png").stat().st_size > 5000)

    def test_templates_are_on_a4_and_letter(self) -> None:
        for paper, width in (("a4", "21.0"), ("letter", "21.6")):
            self.ok("new.py", f"{paper}.docx", "--paper", paper, "--language", "de-DE")
            self.assertIn("0 errors", self.ok("validate.py", f"{paper}.docx"))
            code = f"from docx import Document\nprint(round(Document('{paper}.docx').sections[0].page_width.cm, 1))"
            self.assertEqual(self.python(code).strip(), width)

    def test_the_insertion_of_another_author_is_changed_inside(self) -> None:
        self.python(
            "from docx import Document\nfrom docx.oxml import parse_xml\nd = Document()\np = d.add_paragraph('Pay ')\n"
            'p._p.append(parse_xml(\'<w:ins xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" w:id="5" \''
            ' \'w:author="Bob" w:date="2024-01-01T00:00:00Z"><w:r><w:t>within 30 days</w:t></w:r></w:ins>\'))\n'
            "p.add_run(' of it.')\nd.save('bob.docx')"
        )
        (self.folder / "changes.json").write_text('[{"find": "30", "replace": "45"}]')
        self.ok("redline.py", "apply", "bob.docx", "changes.json", "ann.docx", "--author", "Ann")
        self.assertIn("2 new", self.ok("redline.py", "check", "bob.docx", "ann.docx"))
        self.assertIn("ins\tBob\t days", self.ok("redline.py", "list", "ann.docx"))
        self.ok("redline.py", "accept", "ann.docx", "accepted.docx")
        text = self.python("from docx import Document\nprint(Document('accepted.docx').paragraphs[0].text)")
        self.assertEqual(text.strip(), "Pay within 45 days of it.")

    def test_tracked_changes_touch_only_what_was_meant(self) -> None:
        self.report()
        changes = [
            {"find": "within 30 days of", "replace": "within 45 days of"},
            {"find": "Payment is due", "replace": "Payment falls due", "nth": "all"},
            {"insert_after": "Coffee grew", "text": "Cakes fell", "nth": 2},
            {"delete_paragraph": "Bread stayed"},
            {"find": "January", "replace": "Jan."},
        ]
        (self.folder / "changes.json").write_text(json.dumps(changes))
        self.ok("redline.py", "apply", "report.docx", "changes.json", "red.docx", "--author", "Ann Lee")
        listed = self.ok("redline.py", "list", "red.docx")
        for line in (
            "del\tAnn Lee\t30\n",
            "ins\tAnn Lee\t45\n",
            "ins\tAnn Lee\tCakes fell\n",
            "del\tAnn Lee\tBread stayed\n",
        ):
            self.assertIn(line, listed)
        self.assertIn("0 errors", self.ok("validate.py", "red.docx"))
        self.ok("redline.py", "reject", "red.docx", "rejected.docx")
        self.assertIn("0 new", self.ok("redline.py", "check", "report.docx", "rejected.docx"))
        self.ok("redline.py", "accept", "red.docx", "accepted.docx")
        with zipfile.ZipFile(self.folder / "accepted.docx") as package:
            body = package.read("word/document.xml").decode()
        self.assertNotIn("<w:ins ", body)
        self.assertIn("45", body)
        self.assertNotIn("Bread stayed", body)
        line = self.fails("redline.py", "check", "report.docx", "accepted.docx")
        self.assertIn("not tracked", line)

    def test_changes_that_cannot_be_placed_are_refused(self) -> None:
        self.report()
        line = self.fails(
            "redline.py",
            "apply",
            "report.docx",
            "-",
            "x.docx",
            "--author",
            "A",
            stdin='[{"find":"30 days","replace":"x"}]',
        )
        self.assertIn("occurs 2 times", line)
        for wrong in ('[{"find":"nowhere","replace":"x"}]', '[{"place":1}]', "{}", "[", "[]"):
            self.fails("redline.py", "apply", "report.docx", "-", "x.docx", "--author", "A", stdin=wrong)
        self.assertFalse((self.folder / "x.docx").exists())

    def test_comments_have_places_answers_and_leave_the_text(self) -> None:
        self.report()
        first = '[{"find": "30 days", "nth": 1, "text": "Agreed?"}, {"find": "Coffee grew", "nth": 2, "text": "By how much?"}]'
        self.ok("comment.py", "add", "report.docx", "-", "one.docx", "--author", "Ann Lee", stdin=first)
        answer = '[{"reply_to": "0", "text": "Yes"}]'
        self.ok("comment.py", "add", "one.docx", "-", "two.docx", "--author", "Bo", stdin=answer)
        listed = self.ok("comment.py", "list", "two.docx")
        self.assertIn("0\tAnn Lee\t'30 days'\tAgreed?", listed)
        self.assertIn("2\tBo\t'30 days'\tYes", listed)
        self.assertIn("0 errors", self.ok("validate.py", "two.docx"))
        self.fails(
            "comment.py", "add", "one.docx", "-", "x.docx", "--author", "B", stdin='[{"reply_to": "9", "text": "?"}]'
        )

    def test_the_validator_finds_what_word_would_repair(self) -> None:
        self.report()
        self.python(
            "from docx import Document\nfrom docx.oxml import OxmlElement\n"
            "d = Document('report.docx')\n"
            "d.settings.element.append(OxmlElement('w:zoom'))\n"
            "d.tables[0].rows[1]._tr.remove(d.tables[0].rows[1]._tr.tc_lst[0])\n"
            "d.inline_shapes[0]._inline.docPr.attrib.pop('descr')\n"
            "d.add_heading('Deep', 3)\n"
            "d.add_paragraph('{{name}} \\U000f0000')\n"
            "d.save('bad.docx')"
        )
        done = self.run_script("validate.py", "bad.docx")
        self.assertEqual(done.returncode, 1)
        for part in ("out of order", "row 2: 1 columns", "has no description", "U+F0000", "leftover '{{' in"):
            self.assertIn(part, done.stdout)
        self.assertNotIn("out of order", self.run_script("validate.py", "bad.docx", "--fix").stdout)

    def test_hostile_files_are_refused_in_one_line(self) -> None:
        for path in self.hostile_packages("word/document.xml", "docx"):
            self.fails("validate.py", path)
            self.fails("redline.py", "list", path)
        self.fails("toc.py", self.folder / "bomb.docx", "x.docx")
        self.fails("render.py", self.folder / "text.docx")
