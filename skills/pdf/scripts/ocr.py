#!/usr/bin/env python3
"""Makes a scan searchable: adds the text that tesseract reads as an invisible layer to each page without text.

The pages look the same. Prints the confidence of tesseract for each page: below 70 of 100, check it before you quote.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import pikepdf
from paper import Problem, call, open_pdf, page_range, run


def read_page(source: Path, number: int, languages: str, dpi: int, folder: Path) -> tuple[Path, int, float]:
    """Returns the text layer of a page, its number of words, and their confidence."""
    stem = folder / f"page-{number}"
    page = str(number)
    call("pdftoppm", "-r", str(dpi), "-f", page, "-l", page, "-singlefile", "-gray", "-png", str(source), str(stem))
    picture = str(stem.with_suffix(".png"))
    settings = ("-l", languages, "--dpi", str(dpi), "-c", "textonly_pdf=1", "pdf", "tsv")
    call("tesseract", picture, str(stem), *settings, timeout=300)
    with stem.with_suffix(".tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    sure = [float(row["conf"]) for row in rows if (row.get("text") or "").strip() and float(row["conf"]) >= 0]
    return stem.with_suffix(".pdf"), len(sure), sum(sure) / len(sure) if sure else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scan", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--languages", default="eng", help="such as eng+deu; `tesseract --list-langs` lists them")
    parser.add_argument("--pages", help="such as 1,3-5 (all pages without text)")
    parser.add_argument("--dpi", type=int, default=300)
    given = parser.parse_args()
    count = len(open_pdf(given.scan).pages)
    known = call("tesseract", "--list-langs").split()
    if lacking := [one for one in given.languages.split("+") if one not in known]:
        raise Problem(f"tesseract has no language {', '.join(lacking)}; it has {', '.join(known[4:])}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        straight = folder / "straight.pdf"
        call("qpdf", "--flatten-rotation", str(given.scan), str(straight))
        texts = call("pdftotext", str(straight), "-").split("\f")
        wanted = page_range(given.pages, count)
        if not given.pages:
            wanted = [one for one in wanted if one > len(texts) or len(texts[one - 1].split()) < 5]
        found = []
        with pikepdf.open(straight) as pdf:
            for number in wanted:
                layer, words, sure = read_page(straight, number, given.languages, given.dpi, folder)
                with pikepdf.open(layer) as text:
                    pdf.pages[number - 1].add_overlay(text.pages[0])
                found.append((number, words, sure))
            pdf.save(given.out)
    for number, words, sure in found:
        print(f"page {number}: {words} words, confidence {sure:.0f} of 100")
    words = sum(one for _, one, _ in found)
    print(f"{given.out}: {words} words read on {len(found)} of {count} pages")


if __name__ == "__main__":
    run(main)
