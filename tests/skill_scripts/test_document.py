"""Tests of the documents of pandoc: paper and styles of the reference document."""

import subprocess
import zipfile

from support import ENVIRONMENT, ScriptTest, need


class DocumentTest(ScriptTest):
    skill = "document"

    def setUp(self) -> None:
        super().setUp()
        need("pandoc", "soffice", "pdfinfo")

    def shell(self, *command: str) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=self.folder, env=ENVIRONMENT, timeout=240
        )
        return done.stdout

    def size(self, name: str) -> str:
        """Returns the paper size of a document, as LibreOffice prints it."""
        self.shell("soffice", "--headless", "--convert-to", "pdf", name)
        shown = self.shell("pdfinfo", name.rsplit(".", maxsplit=1)[0] + ".pdf")
        return next(line for line in shown.splitlines() if line.startswith("Page size"))

    def test_the_paper_and_the_styles_are_those_of_the_reference(self) -> None:
        text = "---\ntitle: Über alles\nsubtitle: Below\n---\n\n# One\n\nText\n\n## Two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n"
        (self.folder / "in.md").write_text(text, encoding="utf-8")
        for name, paper, shown in (
            ("a.odt", "a4", "A4"),
            ("l.odt", "letter", "letter"),
            ("a.docx", "a4", "A4"),
            ("l.docx", "letter", "letter"),
        ):
            reference = f"house-{name}"
            made = self.ok("reference.py", reference, "--paper", paper, "--language", "de-DE", "--accent", "b5541f")
            self.assertIn(f"{paper}, de-DE", made)
            self.shell("pandoc", "in.md", "-s", f"--reference-doc={reference}", "-o", name)
            self.assertIn(f"({shown})", self.size(name))
        with zipfile.ZipFile(self.folder / "a.odt") as package:
            styles = package.read("styles.xml").decode()
        self.assertEqual(styles.count('style:name="Heading_20_1"'), 1)
        self.assertIn("#b5541f", styles)
        self.assertIn('fo:language="de"', styles)

    def test_other_names_and_values_are_refused(self) -> None:
        self.assertIn("must end in .odt or .docx", self.fails("reference.py", "x.pdf"))
        self.assertIn("six digits", self.fails("reference.py", "x.odt", "--accent", "red"))
        self.assertIn("written as de-DE", self.fails("reference.py", "x.odt", "--language", "German"))
