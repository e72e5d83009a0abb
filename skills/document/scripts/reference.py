#!/usr/bin/env python3
"""Creates a reference document for pandoc: the paper, the margins and, for ODT, the styles of a report.

    reference.py house.odt --paper a4 --language de-DE
    pandoc in.md -s --reference-doc=house.odt -o out.odt

OUT ends in .odt or .docx. For documents that will be edited in Word, use the skill docx instead.
"""

import argparse
import re
import subprocess
import sys
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True

# Width and height in centimetres.
PAPERS = {"a4": (21.0, 29.7), "letter": (21.59, 27.94)}
MARGIN = 2.5
FONT = "Liberation Sans"
INK, GREY = "#22303c", "#566470"


class Problem(Exception):
    """An error that the caller can correct. Its text is one line."""


def style(name: str, parent: str, paragraph: str, text: str) -> str:
    """Returns a paragraph style of an ODT."""
    shown = name.replace("_20_", " ")
    return (
        f'<style:style style:name="{name}" style:display-name="{shown}" style:family="paragraph" '
        f'style:parent-style-name="{parent}" style:next-style-name="Text_20_body" style:class="text">'
        f"<style:paragraph-properties {paragraph}/><style:text-properties {text}/></style:style>"
    )


def heading(level: int, size: int, above: str, accent: str) -> str:
    color = accent if level == 1 else INK
    made = style(
        f"Heading_20_{level}",
        "Heading",
        f'fo:margin-top="{above}" fo:margin-bottom="0.2cm" fo:keep-with-next="always"',
        f'fo:font-size="{size}pt" fo:font-weight="bold" fo:font-style="normal" fo:color="{color}"',
    )
    return made.replace('style:class="text"', f'style:default-outline-level="{level}" style:class="text"', 1)


def house_styles(accent: str) -> list[str]:
    spaced = 'fo:margin-top="0cm" fo:margin-bottom="0.22cm" fo:line-height="130%"'
    tight = 'fo:margin-top="0.08cm" fo:margin-bottom="0.08cm"'
    bold = f'fo:font-weight="bold" fo:color="{INK}"'
    line = f'{tight} fo:border-bottom="0.5pt solid #d5dadf" fo:padding-bottom="0.05cm"'
    return [
        style("Text_20_body", "Standard", spaced, f'fo:color="{INK}"'),
        style("First_20_paragraph", "Text_20_body", spaced, f'fo:color="{INK}"'),
        heading(1, 16, "0.7cm", accent),
        heading(2, 13, "0.5cm", accent),
        heading(3, 11, "0.4cm", accent),
        style("Title", "Heading", 'fo:margin-bottom="0.2cm"', f'fo:font-size="24pt" {bold}'),
        style("Subtitle", "Heading", 'fo:margin-bottom="0.5cm"', f'fo:font-size="13pt" fo:color="{GREY}"'),
        style("Author", "Text_20_body", 'fo:margin-bottom="0.5cm"', f'fo:color="{GREY}"'),
        style("Date", "Text_20_body", 'fo:margin-bottom="0.5cm"', f'fo:color="{GREY}"'),
        style("Table_20_Contents", "Standard", line, f'fo:font-size="10pt" fo:color="{INK}"'),
        style("Table_20_Heading", "Standard", line.replace("#d5dadf", INK), f'fo:font-size="10pt" {bold}'),
    ]


def odt(source: str, paper: tuple[float, float], language: str, accent: str) -> str:
    """Returns the styles of an ODT in the house style."""
    width, height = paper
    source = re.sub(r'fo:page-width="[^"]*"', f'fo:page-width="{width}cm"', source)
    source = re.sub(r'fo:page-height="[^"]*"', f'fo:page-height="{height}cm"', source)
    page = re.search(r"<style:page-layout-properties[^>]*>", source)
    if page is None:
        raise Problem("the reference document of this pandoc has no page layout")
    margins = re.sub(r'(fo:margin-\w+)="[^"]*"', rf'\1="{MARGIN}cm"', page.group())
    source = source.replace(page.group(), margins)
    short, _, country = language.partition("-")
    base = re.search(r'<style:default-style style:family="paragraph".*?</style:default-style>', source, re.DOTALL)
    if base is not None:
        changed = re.sub(r'style:font-name="[^"]*"', f'style:font-name="{FONT}"', base.group())
        changed = re.sub(r'fo:font-size="[^"]*"', 'fo:font-size="11pt"', changed)
        changed = re.sub(r'fo:language="[^"]*"', f'fo:language="{short}"', changed)
        changed = re.sub(r'fo:country="[^"]*"', f'fo:country="{country or "none"}"', changed)
        source = source.replace(base.group(), changed)
    font = f'<style:font-face style:name="{FONT}" svg:font-family="\'{FONT}\'" style:font-family-generic="swiss"/>'
    source = source.replace("</office:font-face-decls>", font + "</office:font-face-decls>", 1)
    source = re.sub(r'style:font-name="Arial"', f'style:font-name="{FONT}"', source)
    for one in house_styles(accent):
        name = re.findall(r'style:name="([^"]*)"', one)[0]
        old = rf'<style:style style:name="{name}"[^>]*?(?:/>|(?<!/)>.*?</style:style>)'
        source = re.sub(old, "", source, count=1, flags=re.DOTALL)
        source = source.replace("</office:styles>", one + "</office:styles>", 1)
    return source


def docx(source: str, paper: tuple[float, float]) -> str:
    """Returns the body of a DOCX with its paper and margins, in twentieths of a point."""
    width, height, margin = (round(one / 2.54 * 1440) for one in (*paper, MARGIN))
    sides = " ".join(f'w:{side}="{margin}"' for side in ("top", "right", "bottom", "left"))
    page = (
        f'<w:sectPr><w:pgSz w:w="{width}" w:h="{height}"/><w:pgMar {sides} w:header="708" w:footer="708" w:gutter="0"/>'
    )
    source = re.sub(r"<w:sectPr\s*/>", "<w:sectPr></w:sectPr>", source)
    source = re.sub(r"<w:pg(?:Sz|Mar)[^>]*/>", "", source)
    if "<w:sectPr" not in source:
        source = source.replace("</w:body>", "<w:sectPr></w:sectPr></w:body>")
    return re.sub(r"<w:sectPr[^>]*>", page, source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--paper", choices=sorted(PAPERS), default="a4")
    parser.add_argument("--language", default="en-GB", help="such as de-DE (en-GB)")
    parser.add_argument("--accent", default="1f5a7a", help="the colour of headings, six digits (1f5a7a)")
    given = parser.parse_args()
    kind = given.out.suffix.lower().lstrip(".")
    if kind not in ("odt", "docx"):
        raise Problem(f"{given.out}: its name must end in .odt or .docx")
    if not re.fullmatch(r"[0-9a-fA-F]{6}", given.accent) or not re.fullmatch(r"[a-z]{2,3}(-[A-Z]{2})?", given.language):
        raise Problem("--accent has six digits such as 1f5a7a, --language is written as de-DE")
    command = ["pandoc", "-o", str(given.out), "--print-default-data-file", f"reference.{kind}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Problem(f"pandoc failed: {done.stderr.strip()[-200:]}")
    changed = "styles.xml" if kind == "odt" else "word/document.xml"
    with zipfile.ZipFile(given.out) as package:
        parts = [(entry, package.read(entry)) for entry in package.infolist()]
    with zipfile.ZipFile(given.out, "w") as package:
        for entry, data in parts:
            text = data.decode() if entry.filename == changed else ""
            if text and kind == "odt":
                data = odt(text, PAPERS[given.paper], given.language, f"#{given.accent}").encode()  # noqa: PLW2901
            elif text:
                data = docx(text, PAPERS[given.paper]).encode()  # noqa: PLW2901
            package.writestr(entry, data)
    print(f"{given.out}: {given.paper}, {given.language}")


if __name__ == "__main__":
    try:
        main()
    except (Problem, OSError) as problem:
        print(f"reference: {' '.join(str(problem).split())}", file=sys.stderr)
        sys.exit(1)
