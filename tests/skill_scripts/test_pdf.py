"""Tests of PDF files: forms in every viewer, forms without fields, scans, tables, redaction, tags and the check."""

import json

from support import SKILLS, ScriptTest, need

FORM = """
from reportlab.pdfgen.canvas import Canvas
c = Canvas("form.pdf"); f = c.acroForm
c.setFont("Helvetica", 11)
c.drawString(60, 765, "Name:"); f.textfield(name="name", x=160, y=760, width=300, height=20, fontSize=11, maxlen=40)
c.drawString(60, 715, "Note:"); f.textfield(name="note", x=160, y=690, width=300, height=50, fontSize=11, fieldFlags="multiline", maxlen=400)
c.drawString(60, 605, "Region:"); f.choice(name="region", x=160, y=600, width=150, height=20, options=[("North", "n"), ("Lodz", "l")], value="n")
c.drawString(60, 565, "I agree"); f.checkbox(name="agree", x=160, y=560, size=16)
c.drawString(60, 525, "Size"); f.radio(name="size", value="S", x=160, y=520, size=16, selected=True); f.radio(name="size", value="L", x=200, y=520, size=16)
c.drawString(60, 400, "Secret number 12-3456 of Ann"); c.drawString(60, 380, "Public line")
c.save()
"""
VALUES = {"name": "Zoë Łukasiewicz", "note": "wraps\n✓ done, 東京", "region": "Lodz", "agree": True, "size": "L"}


class PdfTest(ScriptTest):
    skill = "pdf"

    def setUp(self) -> None:
        super().setUp()
        need("qpdf", "pdftotext", "pdftoppm", "fc-match")
        self.python(FORM)

    def text(self, path: str) -> str:
        return self.python(
            f"import subprocess\nprint(subprocess.run(['pdftotext', '-layout', {path!r}, '-'], capture_output=True, text=True).stdout)"
        )

    def test_fields_are_listed_with_labels(self) -> None:
        found = {one["name"]: one for one in json.loads(self.ok("fields.py", "form.pdf"))}
        self.assertEqual(found["name"]["places"][0]["label"], "Name:")
        self.assertEqual(found["region"]["options"], ["North", "Lodz"])
        self.assertEqual(found["size"]["states"], ["Off", "S", "L"])
        self.assertTrue(found["note"]["multiline"])

    def test_filled_values_are_seen_by_two_viewers_and_stay_when_flattened(self) -> None:
        (self.folder / "values.json").write_text(json.dumps(VALUES))
        self.assertIn("5 fields filled", self.ok("fill_form.py", "form.pdf", "values.json", "filled.pdf"))
        self.ok("fill_form.py", "form.pdf", "values.json", "flat.pdf", "--flatten")
        for path in ("filled.pdf", "flat.pdf"):
            shown = self.text(path)
            for value in ("Zoë Łukasiewicz", "✓ done, 東京", "Lodz"):
                self.assertIn(value, shown)
            self.assertNotIn("North", shown)
        self.assertIn("it has no fields", self.fails("fields.py", "flat.pdf"))
        # poppler and pdfium draw the same values, a tick, and the second radio button.
        alike = self.python(
            "import pypdfium2, subprocess\nfrom PIL import Image, ImageChops\n"
            "def look(path):\n"
            "    d = pypdfium2.PdfDocument(path); d.init_forms()\n"
            "    return d[0].render(scale=1).to_pil().convert('L')\n"
            "subprocess.run(['pdftoppm', '-r', '72', '-gray', '-png', '-singlefile', 'filled.pdf', 'p'], check=True)\n"
            "a, b, e = look('filled.pdf'), Image.open('p.png').convert('L'), look('form.pdf')\n"
            "dark = lambda i, box: sum(v < 128 for v in i.crop(box).getdata())\n"
            "for box in ((160, 60, 460, 82), (160, 102, 460, 152), (160, 266, 176, 282), (200, 306, 216, 322)):\n"
            "    print(dark(a, box) > dark(e, box) + 5, dark(b, box) > dark(e, box) + 5)\n"
        )
        self.assertEqual(alike.split(), ["True"] * 8)

    def test_values_that_do_not_fit_are_refused(self) -> None:
        for values, part in (
            ({"nobody": "x"}, "there is no field nobody"),
            ({"region": "East"}, "is not one of North, Lodz"),
            ({"size": "XL"}, "is not one of Off, S, L"),
            ({"name": "x" * 41}, "longer than 40"),
            ({"name": "a\nb"}, "takes one line"),
            ({"name": "\U000f0000"}, "no font that can be embedded"),
            ([], "must be an object"),
        ):
            self.assertIn(part, self.fails("fill_form.py", "form.pdf", "-", "x.pdf", stdin=json.dumps(values)))
        self.assertFalse((self.folder / "x.pdf").exists())

    def test_a_form_without_fields_is_written_on(self) -> None:
        texts = [{"after": "Name:", "text": "Zoë Ł"}, {"box": [300, 640, 320, 655], "tick": True}]
        self.ok("write_on.py", "form.pdf", "-", "w.pdf", "--look", "look", stdin=json.dumps(texts))
        self.assertIn("Zoë Ł", self.text("w.pdf"))
        self.assertTrue((self.folder / "look/page-1.png").exists())
        for wrong, part in (
            ([{"box": [55, 760, 200, 780], "text": "x"}], "covers printed words: Name:"),
            ([{"box": [300, 640, 900, 655], "text": "x"}], "extends beyond"),
            ([texts[1], texts[1]], "overlaps another box"),
            ([{"after": "Nobody:", "text": "x"}], "occur 0 times"),
            ([{"box": [300, 640, 320, 650], "text": "far too long for this box"}], "does not fit"),
        ):
            self.assertIn(part, self.fails("write_on.py", "form.pdf", "-", "x.pdf", stdin=json.dumps(wrong)))

    def test_redacted_words_are_gone_and_the_others_are_found(self) -> None:
        shown = self.ok("redact.py", "form.pdf", "r.pdf", "--text", "OF ann", "--pattern", r"\d\d-\d{4}")
        self.assertIn("2 places removed on 1 of 1 pages", shown)
        left = self.text("r.pdf")
        self.assertIn("Public line", left)
        self.assertIn("Secret number", left)
        code = "import pikepdf\nprint(any(b'3456' in o.read_bytes() for o in pikepdf.open('r.pdf').objects if isinstance(o, pikepdf.Stream)))"
        self.assertEqual(self.python(code).strip(), "False")
        self.assertNotIn("12-3456", left)
        self.assertNotIn("Ann", left)
        black = self.python(
            "import subprocess\nfrom PIL import Image\n"
            "subprocess.run(['pdftoppm', '-r', '72', '-gray', '-png', '-singlefile', 'r.pdf', 'p'], check=True)\n"
            "i = Image.open('p.png').convert('L'); print(i.getpixel((160, round(i.height - 404))))"
        )
        self.assertLess(int(black), 10)
        self.assertIn("no match was found", self.fails("redact.py", "form.pdf", "x.pdf", "--text", "Nobody"))
        self.assertFalse((self.folder / "x.pdf").exists())
        self.fails("redact.py", "form.pdf", "x.pdf", "--pattern", "(")

    def test_html_becomes_a_tagged_pdf_with_a_table_that_can_be_read_back(self) -> None:
        need("chromium")
        page = SKILLS / "pdf/assets/report.html"
        self.assertIn(
            "1 pages, tagged, titled 'Sales in 2025'", self.ok("to_pdf.py", page, "r.pdf", "--language", "en-GB")
        )
        self.assertIn("0 errors, 0 warnings", self.ok("check_pdf.py", "r.pdf", "--out", "pages"))
        self.assertIn("Page 1 of 1", self.text("r.pdf"))
        self.assertIn("1 tables", self.ok("tables.py", "r.pdf", "--out", "tables"))
        self.assertIn('Shop two,"104,006",+12.6 %', (self.folder / "tables/table-1-page-1.csv").read_text())

    def test_a_scan_becomes_searchable_and_looks_as_before(self) -> None:
        need("tesseract")
        self.python(
            "from PIL import Image, ImageDraw, ImageFont\n"
            "i = Image.new('L', (1000, 500), 255); d = ImageDraw.Draw(i)\n"
            "d.text((80, 100), 'Invoice for seven loaves', font=ImageFont.truetype('DejaVuSans.ttf', 48), fill=0)\n"
            "i.save('scan.pdf', resolution=150)"
        )
        self.assertIn("no table was found", self.fails("tables.py", "scan.pdf"))
        self.assertIn("4 words", self.ok("ocr.py", "scan.pdf", "ocr.pdf", "--dpi", "200"))
        self.assertIn("Invoice for seven loaves", " ".join(self.text("ocr.pdf").split()))
        self.assertIn("no language xyz", self.fails("ocr.py", "scan.pdf", "x.pdf", "--languages", "xyz"))

    def test_the_check_finds_boxes_instead_of_letters_and_empty_pages(self) -> None:
        self.python(
            "from reportlab.pdfgen.canvas import Canvas\nfrom reportlab.pdfbase import pdfmetrics\n"
            "from reportlab.pdfbase.ttfonts import TTFont\nfrom paper import font_file\n"
            "pdfmetrics.registerFont(TTFont('B', str(font_file('Liberation Sans')[0])))\n"
            "c = Canvas('box.pdf'); c.setFont('B', 12); c.drawString(60, 700, 'ok ✓ None'); c.showPage(); c.showPage(); c.save()"
        )
        done = self.run_script("check_pdf.py", "box.pdf")
        self.assertEqual(done.returncode, 1)
        for part in ("has no glyph for U+2713 ✓", "page 2 is empty", "leftover 'None' in", "no language"):
            self.assertIn(part, done.stdout)

    def test_hostile_files_are_refused_in_one_line(self) -> None:
        (self.folder / "text.pdf").write_text("no PDF")
        (self.folder / "cut.pdf").write_bytes((self.folder / "form.pdf").read_bytes()[:200])
        self.python(
            "import pikepdf\npikepdf.open('form.pdf').save('locked.pdf', encryption=pikepdf.Encryption(user='a', owner='b'))"
        )
        for name in ("text.pdf", "cut.pdf", "missing.pdf", "locked.pdf"):
            self.fails("fields.py", name)
            self.fails("check_pdf.py", name)
            self.fails("redact.py", name, "x.pdf", "--text", "a")
        self.assertIn("encrypted", self.fails("fill_form.py", "locked.pdf", "-", "x.pdf", stdin='{"name": "a"}'))
