"""Tests of presentations: the house deck, the check of slides, and copies."""

from support import ScriptTest, need

DECK = """
from deck import Deck
m = "Jan Feb Mar Apr May Jun".split()
d = Deck("Sales 2025", author="Finance", footer="Bakery")
d.cover("Coffee grew by a third", "Report for the board", notes="Welcome")
d.figures("Three figures tell the year", [("161,006 €", "Sales", "+9 %"), ("+36 %", "Coffee", "most")], text=["One third."])
d.chart("Coffee passed bread in May", "line", m, {"Coffee": [3, 4, 4, 5, 6, 7], "Bread": [5, 5, 5, 5, 5, 5]},
        "Two lines: coffee passes bread", text=["It doubled", ("Bread stayed", ["5,000 a month"])], source="Source: ledger")
d.chart("Shop two sells most", "bar", ["One", "Two", "Market"], {"Sales": [31, 62, 26]}, "Bars: two leads", highlight=1)
d.chart("Shares", "doughnut", ["Coffee", "Bread"], {"Share": [0.6, 0.4]}, "Ring", number_format="0%", text=["More than half"])
d.table("Two shops make it", ["Shop", "Sales"], [["One", "31,000"], ["Two", "62,000"], ["Sum", "93,000"]], total=True)
d.points("Three things to do", [("Hire", "a barista"), ("Open", "on Sundays"), ("Review", "in June")])
d.two("Buy or rent", ("Buy", ["28,000 € once", "ours"]), ("Rent", ["450 € a month"]))
d.picture("The shop", "bars.png", "The shop", text=["Open since May"])
d.section("Open on Sundays")
d.save("deck.pptx")
"""


class PptxTest(ScriptTest):
    skill = "pptx"

    def deck(self) -> None:
        self.picture()
        self.python(DECK)

    def test_the_house_deck_passes_its_own_check_and_is_drawn(self) -> None:
        need("soffice", "pdftoppm", "fc-match")
        self.deck()
        shown = self.ok("check_deck.py", "deck.pptx", "--out", "slides")
        self.assertIn("10 slides, 0 errors, 0 warnings", shown)
        self.assertEqual(len(list((self.folder / "slides").glob("page-*.png"))), 10)
        shape = self.python(
            "from pptx import Presentation\np = Presentation('deck.pptx')\nprint(p.slide_width / p.slide_height)"
        )
        self.assertAlmostEqual(float(shape), 16 / 9, places=3)

    def test_the_check_finds_what_anyone_sees(self) -> None:
        self.deck()
        self.python(
            "from pptx import Presentation\nfrom pptx.util import Inches, Pt\nfrom pptx.dml.color import RGBColor\n"
            "p = Presentation('deck.pptx')\n"
            "s = p.slides[1]\n"
            "t = s.shapes.add_textbox(Inches(1), Inches(2), Inches(3), Inches(.5))\n"
            "t.text_frame.word_wrap = True\n"
            "t.text_frame.text = 'A long text that does not fit into its box. ' * 4\n"
            "r = t.text_frame.paragraphs[0].runs[0]\n"
            "r.font.color.rgb, r.font.size = RGBColor(0xcc, 0xcc, 0xcc), Pt(11)\n"
            "t = s.shapes.add_textbox(Inches(12), Inches(2), Inches(3), Inches(.5))\n"
            "t.text_frame.text = 'TODO \\U000f0000'\n"
            "s.shapes.add_picture('bars.png', Inches(9), Inches(6), Inches(1))\n"
            "p.slides.add_slide(p.slide_layouts.get_by_name('Text'))\n"
            "p.save('bad.pptx')"
        )
        done = self.run_script("check_deck.py", "bad.pptx", "--no-draw")
        self.assertEqual(done.returncode, 1)
        for part in (
            "overlap by 100%",
            "extends beyond the slide",
            "pt and has",
            "is set in 11 pt",
            "has a contrast of 1.",
            "leftover 'TODO' in",
            "U+F0000",
            "has no description",
            "slide 11: it has no title",
            "is empty",
        ):
            self.assertIn(part, done.stdout)

    def test_copied_slides_have_charts_and_notes_of_their_own(self) -> None:
        self.deck()
        self.ok("copy_slide.py", "deck.pptx", "copy.pptx", "1,3-4,3,9,9,1")
        shown = self.python(
            "from pptx import Presentation\n"
            "p = Presentation('copy.pptx')\n"
            "charts = [s.chart for one in p.slides for s in one.shapes if s.has_chart]\n"
            "from pptx.chart.data import CategoryChartData\n"
            "d = CategoryChartData(); d.categories = ['a']; d.add_series('new', [1])\n"
            "charts[2].replace_data(d)\n"
            "p.save('changed.pptx')\n"
            "p = Presentation('changed.pptx')\n"
            "print([s.chart.plots[0].series[0].name for one in p.slides for s in one.shapes if s.has_chart])\n"
            "print(p.slides[0].notes_slide.notes_text_frame.text == p.slides[6].notes_slide.notes_text_frame.text)\n"
            "print(len(p.slides), [s.shapes.title.text for s in p.slides])\n"
        )
        self.assertIn("['Coffee', 'Sales', 'new']\nTrue\n7 ", shown)
        self.assertIn("copy.pptx: 7 slides", self.run_script("check_deck.py", "copy.pptx", "--no-draw").stdout)
        self.assertIn("there is no slide 12", self.fails("copy_slide.py", "deck.pptx", "x.pptx", "1,12"))
        self.fails("copy_slide.py", "deck.pptx", "x.pptx", "one")

    def test_an_empty_deck_has_the_layouts(self) -> None:
        self.assertIn("Cover, Section, Text, Chart", self.ok("new.py", "new.pptx", "--accent", "703060"))

    def test_hostile_files_are_refused_in_one_line(self) -> None:
        for path in self.hostile_packages("ppt/presentation.xml", "pptx"):
            self.fails("check_deck.py", path, "--no-draw")
            self.fails("copy_slide.py", path, "x.pptx", "1")
