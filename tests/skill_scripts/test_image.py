"""Tests of pictures: charts in the house style, and the check."""

from support import ScriptTest, need

CHARTS = """
from chart import Chart
m = "Jan Feb Mar Apr".split()
c = Chart("Coffee passed bread", "Sales, 日本", source="Source: ledger")
c.lines(m, {"Coffee": [3, 4, 5, 6], "Bread": [5, 5, 5, 5]}, number="{:.1f}"); c.save("lines.png")
c = Chart("Shop two sells most"); c.bars(["The shop at the station", "Two"], [31000, 62000], highlight=1); c.save("bars.png")
c = Chart("Two years"); c.columns(["Q1", "Q2"], {"2024": [1, 2], "2025": [2, 3]}); c.save("columns.png")
c = Chart("A headline of so many words that it does not fit onto one line " * 2); c.columns(["Q1"], {"a": [-2]}); c.save("long.png")
"""


class ImageTest(ScriptTest):
    skill = "image"

    def test_charts_are_whole_and_nothing_touches_an_edge(self) -> None:
        need("fc-list")
        self.python(CHARTS)
        names = ("lines.png", "bars.png", "columns.png", "long.png")
        shown = self.ok("check_image.py", *names, "--least", 1080, "--text", "日本", "--sheet", "sheet.png")
        self.assertIn("4 pictures, 0 errors, 0 warnings", shown)
        self.assertGreater((self.folder / "sheet.png").stat().st_size, 5000)

    def test_scripts_that_are_not_joined_are_named(self) -> None:
        done = self.python(
            "import contextlib, io\nfrom chart import Chart\nc = Chart('نص'); c.bars(['a', 'b'], [-3, 4])\n"
            "with contextlib.redirect_stderr(io.StringIO()) as said: c.save('a.png')\nprint(said.getvalue())"
        )
        self.assertIn("does not join Arabic", done)

    def test_damaged_blank_and_cut_pictures_are_found(self) -> None:
        self.python(
            "from PIL import Image, ImageDraw\n"
            "i = Image.new('RGB', (400, 300), 'white'); i.save('blank.png')\n"
            "ImageDraw.Draw(i).rectangle((0, 100, 50, 150), fill='black'); i.save('cut.png')\n"
            "open('half.png', 'wb').write(open('cut.png', 'rb').read()[:120])\n"
            "open('text.png', 'w').write('no picture')\n"
        )
        names = ("blank.png", "cut.png", "half.png", "text.png", "missing.png")
        done = self.run_script("check_image.py", *names, "--text", "\U000f0000")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        for part in (
            "blank.png: it is blank",
            "cut.png: something touches its left edge",
            "half.png: it is damaged",
            "text.png: it is damaged",
            "missing.png: there is no such file",
            "U+F0000",
        ):
            self.assertIn(part, done.stdout)
