#!/usr/bin/env python3
"""Creates a tagged PDF (headings, lists and tables for screen readers) from HTML, DOCX, ODT, PPTX or XLSX.

HTML is printed by Chromium: start with assets/report.html. It has page numbers by CSS, bookmarks from headings, and
embedded fonts. Office files are converted by LibreOffice. Nothing is loaded from the network.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import pikepdf
from paper import Problem, call, open_pdf, run

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def print_html(source: Path, out: Path) -> None:
    """Prints a page with Chromium."""
    program = next((one for one in CHROMIUM if shutil.which(one)), None)
    if program is None:
        raise Problem("chromium is not installed")
    with tempfile.TemporaryDirectory() as profile:
        settings = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-pdf-header-footer"]
        settings += ["--export-tagged-pdf", "--generate-pdf-document-outline", f"--user-data-dir={profile}"]
        settings += ["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--no-first-run"]
        call(program, *settings, f"--print-to-pdf={out}", source.absolute().as_uri(), timeout=120)


def convert_office(source: Path, out: Path) -> None:
    """Exports an office file with LibreOffice, tagged."""
    with tempfile.TemporaryDirectory() as folder:
        options = (
            '{"UseTaggedPDF":{"type":"boolean","value":"true"},"ExportBookmarks":{"type":"boolean","value":"true"}}'
        )
        profile = f"-env:UserInstallation={(Path(folder) / 'profile').as_uri()}"
        command = ["soffice", profile, "--headless", "--convert-to", f"pdf:writer_pdf_Export:{options}"]
        if source.suffix.lower() in (".pptx", ".odp"):
            command[-1] = command[-1].replace("writer", "impress")
        elif source.suffix.lower() in (".xlsx", ".ods"):
            command[-1] = command[-1].replace("writer", "calc")
        call(*command, "--outdir", folder, str(source))
        made = Path(folder) / f"{source.stem}.pdf"
        if not made.exists():
            raise Problem(f"{source}: LibreOffice cannot convert it")
        shutil.copyfile(made, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--title", help="the title (that of the source)")
    parser.add_argument("--language", help="such as en-GB")
    given = parser.parse_args()
    if not given.source.is_file():
        raise Problem(f"{given.source}: there is no such file")
    if given.source.suffix.lower() in (".html", ".htm"):
        print_html(given.source, given.out)
    else:
        convert_office(given.source, given.out)
    pdf = open_pdf(given.out)
    title = given.title or str(pdf.docinfo.get("/Title", "")) or given.source.stem
    with pdf.open_metadata() as metadata:
        metadata["dc:title"] = title
    pdf.docinfo["/Title"] = title
    if given.language:
        pdf.Root["/Lang"] = given.language
    pdf.Root["/ViewerPreferences"] = pikepdf.Dictionary(DisplayDocTitle=True)
    is_tagged = "/StructTreeRoot" in pdf.Root
    count = len(pdf.pages)
    with tempfile.TemporaryDirectory() as folder:
        pdf.save(Path(folder) / "out.pdf")
        shutil.copyfile(Path(folder) / "out.pdf", given.out)
    if not is_tagged:
        raise Problem(f"{given.out}: it was written, but without tags")
    print(f"{given.out}: {count} pages, tagged, titled {title!r}")


if __name__ == "__main__":
    run(main)
