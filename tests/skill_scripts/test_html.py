"""Tests of HTML: the page skeleton passes the check, and the check finds visible defects."""

from support import SKILLS, ScriptTest, need

BAD = """<!doctype html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title></title>
<style>p { color: #bbb; background: #fff } .wide { width: 900px }</style></head>
<body><h1>One</h1><h3>Three</h3>
<p>pale text</p><div class="wide">wide</div><img src="https://example.org/a.png"><svg viewBox="0 0 10 10"></svg>
<input type="text"><b>NaN</b> \U000f0000<script>missing();</script></section></body></html>
"""


class HtmlTest(ScriptTest):
    skill = "html"

    def test_the_skeleton_passes_and_is_drawn(self) -> None:
        need("chromium", "fc-list")
        shown = self.ok("check_page.py", SKILLS / "html/assets/page.html", "--out", "shots")
        self.assertIn("0 errors, 0 warnings", shown)
        size = "from PIL import Image\nprint([Image.open(f'shots/{n}.png').size[0] for n in ('phone', 'wide', 'dark')])"
        self.assertEqual(self.python(size).strip(), "[390, 1200, 1200]")
        self.assertTrue((self.folder / "shots/print.pdf").read_bytes().startswith(b"%PDF"))

    def test_what_a_reader_would_see_is_found(self) -> None:
        need("chromium")
        (self.folder / "bad.html").write_text(BAD, encoding="utf-8")
        done = self.run_script("check_page.py", "bad.html")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        for part in (
            "line 6: </section> closes nothing",
            "it loads https://example.org/a.png",
            "a script fails: ReferenceError",
            "pixels too wide",
            '"pale text" has a contrast of 1.',
            "a picture has no alt",
            "a drawing has no aria-label",
            "a field <input> has no label",
            "<html> has no lang",
            "it has no title",
            'leftover "NaN" in the text',
            "a heading of level 3 follows one of level 1",
            "U+F0000",
        ):
            self.assertIn(part, done.stdout)

    def test_an_invalid_page_is_refused_in_one_line(self) -> None:
        (self.folder / "latin.html").write_bytes("<!doctype html><p>é".encode("latin-1"))
        self.assertIn("not UTF-8", self.fails("check_page.py", "latin.html"))
        self.assertIn("no such file", self.fails("check_page.py", "missing.html"))
