"""Tests of characters without a glyph, in every skill that draws text."""

import unittest

from support import ScriptTest, need

# The fonts of install-programs have all of them, including joined and invisible characters.
DRAWN = "café 日本語 한국어 نص नमस्ते 🙂 e\u0301 soft\u00adhyphen a\u200bb"
JOINED = " 👩‍👩‍👧"
# An unassigned code point, which no font has.
LOST = "\u0378"
PAGE = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title></head><body><p>{}</p></body></html>'


class OfficeGlyphTest(ScriptTest):
    skill = "docx"

    def validated(self, text: str) -> str:
        self.python(
            "from house import Report\n"
            f"r = Report('Title', author='A', language='en-GB', paper='a4')\nr.text({text!r})\nr.save('it.docx')"
        )
        return self.run_script("validate.py", "it.docx").stdout

    def test_a_document(self) -> None:
        self.assertIn("0 errors", self.validated(DRAWN + JOINED))
        self.assertIn("no installed font has U+0378", self.validated(DRAWN + LOST))


class DeckGlyphTest(ScriptTest):
    skill = "pptx"

    def checked(self, text: str) -> str:
        self.python(
            "from deck import Deck\n"
            f"d = Deck('Title')\nd.cover('Title', 'Sub')\nd.bullets('A slide', [{text!r}])\nd.save('it.pptx')"
        )
        return self.run_script("check_deck.py", "it.pptx", "--out", "slides").stdout

    def test_a_deck(self) -> None:
        need("soffice")
        self.assertNotIn("no installed font", self.checked(DRAWN + JOINED))
        self.assertIn("no installed font has U+0378", self.checked(DRAWN + LOST))


class BookGlyphTest(ScriptTest):
    skill = "spreadsheet"

    def checked(self, text: str) -> str:
        self.python(f"from openpyxl import Workbook\nb = Workbook()\nb.active['A1'] = {text!r}\nb.save('it.xlsx')")
        return self.run_script("check_book.py", "it.xlsx").stdout

    def test_a_workbook(self) -> None:
        self.assertNotIn("no installed font", self.checked(DRAWN + JOINED))
        self.assertIn("no installed font has U+0378", self.checked(DRAWN + LOST))


class PageGlyphTest(ScriptTest):
    skill = "html"

    def checked(self, text: str) -> str:
        (self.folder / "it.html").write_text(PAGE.format(text), encoding="utf-8")
        return self.run_script("check_page.py", "it.html").stdout

    def test_a_page(self) -> None:
        need("chromium")
        self.assertNotIn("no installed font", self.checked(DRAWN + JOINED))
        self.assertIn("no installed font has U+0378", self.checked(DRAWN + LOST))


class PictureGlyphTest(ScriptTest):
    skill = "image"

    def test_the_words_of_a_picture(self) -> None:
        self.picture()
        drawn = self.run_script("check_image.py", "bars.png", "--text", DRAWN).stdout
        self.assertNotIn("no installed font", drawn)
        lost = self.run_script("check_image.py", "bars.png", "--text", DRAWN + LOST).stdout
        self.assertIn("no installed font has U+0378", lost)


class PdfGlyphTest(ScriptTest):
    skill = "pdf"

    def test_a_pdf_of_a_browser(self) -> None:
        need("chromium", "pdftoppm")
        for text, is_drawn in ((DRAWN + JOINED, True), (DRAWN + LOST, False)):
            (self.folder / "it.html").write_text(PAGE.format(text), encoding="utf-8")
            self.ok("to_pdf.py", "it.html", "it.pdf")
            found = self.run_script("check_pdf.py", "it.pdf").stdout
            self.assertEqual("empty boxes were drawn" in found, not is_drawn, found)

    def test_a_pdf_of_matplotlib(self) -> None:
        need("pdftoppm")
        for kind in (3, 42):
            for text, is_drawn in (("café Ж", True), ("café 日", False)):
                self.python(
                    "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt, warnings\n"
                    f"warnings.simplefilter('ignore')\nplt.rcParams['pdf.fonttype'] = {kind}\n"
                    f"f = plt.figure()\nf.text(0.2, 0.5, {text!r})\nf.savefig('it.pdf')"
                )
                found = self.run_script("check_pdf.py", "it.pdf").stdout
                self.assertEqual("empty boxes were drawn" in found, not is_drawn, (kind, found))

    def printed_from_office(self, text: str) -> str:
        self.python(f"from docx import Document\nd = Document()\nd.add_paragraph({text!r})\nd.save('it.docx')")
        self.ok("to_pdf.py", "it.docx", "it.pdf")
        return self.run_script("check_pdf.py", "it.pdf").stdout

    def test_a_pdf_of_an_office_program_raises_no_false_alarm(self) -> None:
        need("soffice", "pdftoppm")
        found = self.printed_from_office(DRAWN.replace("🙂 ", ""))
        self.assertIn(" 0 errors", found)

    def test_coloured_emoji_that_an_office_program_left_out_are_found(self) -> None:
        need("soffice", "pdftoppm")
        found = self.printed_from_office("Nice 🙂 work ✓")
        self.assertIn("U+1F642 🙂 cannot be seen: LibreOffice omits coloured emoji", found)
        self.assertIn(" 1 errors", found)


if __name__ == "__main__":
    unittest.main()
