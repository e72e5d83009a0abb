"""Files as untrusted input, and the passages in them."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

sys.dont_write_bytecode = True

MAX_WORDS = 180
# The limits of an unpacked archive.
MAX_BYTES = 500_000_000
MAX_MEMBERS = 20_000
PANDOC = {".docx": "docx", ".odt": "odt", ".epub": "epub", ".rtf": "rtf", ".tex": "latex", ".ipynb": "ipynb"}
BLOCKS = set("p div li tr h1 h2 h3 h4 h5 h6 br table section article pre blockquote dt dd".split())


class Problem(Exception):
    """An error that the caller can correct. Its text is one line."""


@dataclass(frozen=True)
class Passage:
    """A part of a file with the heading above it, and its place in the file."""

    file: str
    place: str
    text: str


def run(main: Callable[[], int | None]) -> None:
    """Runs a script. Prints any error as one line on standard error, and exits with status 1."""
    try:
        sys.exit(main() or 0)
    except Problem as problem:
        message = str(problem)
    except subprocess.TimeoutExpired as error:
        message = f"{error.cmd[0]} needs more than {error.timeout:.0f} seconds"
    except (OSError, MemoryError) as error:
        message = str(error) or "not enough memory"
    print(f"{Path(sys.argv[0]).stem}: {' '.join(message.split())[:500]}", file=sys.stderr)
    sys.exit(1)


def clean(text: str) -> str:
    """Normalizes Unicode and line breaks, and joins words that are hyphenated at line ends."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))
    return re.sub(r"(?<=[a-zà-ÿ])[-\u00ad]\n(?=[a-zà-ÿ])", "", text).replace("\u00ad", "")


def pieces(text: str) -> Iterator[str]:
    """Splits a long paragraph after sentences. Each piece begins with the last sentence of the previous one."""
    sentences = re.split(r"(?<=[.!?…])\s+(?=[^\sa-z])", " ".join(text.split()))
    kept: list[str] = []
    for one in sentences:
        if kept and len(" ".join([*kept, one]).split()) > MAX_WORDS:
            yield " ".join(kept)
            kept = kept[-1:] if len(kept[-1].split()) < MAX_WORDS // 3 else []
        kept.append(one)
    if kept:
        yield " ".join(kept)


def is_list(lines: list[str]) -> bool:
    """Whether the lines of a paragraph are separate notes or items."""
    if len(lines) < 2:
        return False
    ended = sum(bool(re.search(r"[.!?;:…]$", line)) for line in lines)
    marked = sum(bool(re.match(r"[-*•]\s|\d+[.)]\s|\d{4}-\d\d", line)) for line in lines)
    return max(ended, marked) >= 0.8 * len(lines)


def of_text(file: str, text: str, place: str | None = None) -> Iterator[Passage]:
    """Yields each paragraph and note with its heading. In a file without empty lines, each line is a passage."""
    text = clean(text)
    has_paragraphs = "\n\n" in re.sub(r"\n[ \t]+\n", "\n\n", text.strip()) or place is not None
    heading, block = "", list[tuple[int, str]]()

    def flushed() -> Iterator[Passage]:
        single = not has_paragraphs or is_list([line for _, line in block])
        parts = block if single else [(block[0][0], " ".join(line for _, line in block))] if block else []
        for first, whole in parts:
            for piece in pieces(whole):
                yield Passage(file, place or f"line {first}", f"{heading}: {piece}" if heading else piece)

    for number, line in enumerate([*text.split("\n"), ""], 1):
        title = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if title or not line.strip():
            yield from flushed()
            block = []
        if title:
            heading = title[1]
        elif line.strip():
            block.append((number, line.strip()))


def of_rows(file: str, rows: Iterator[tuple[int, list[str]]], name: str) -> Iterator[Passage]:
    """Yields each row with the names of its columns."""
    header: list[str] = []
    for number, row in rows:
        if not header:
            header = row
        elif any(one.strip() for one in row):
            pairs = [f"{key}: {value}" for key, value in zip(header, row, strict=False) if value.strip()]
            yield Passage(file, f"{name} {number}", clean("; ".join(pairs)))


def of_csv(file: str, text: str) -> Iterator[Passage]:
    try:
        dialect: type[csv.Dialect] | str = csv.Sniffer().sniff(text[:4000], ",;\t|")
    except csv.Error:
        dialect = "excel"
    reader = csv.reader(io.StringIO(text), dialect)
    yield from of_rows(file, ((reader.line_num, row) for row in reader), "line")


def of_json(file: str, text: str) -> Iterator[Passage]:
    try:
        found = json.loads(text)
    except ValueError:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise Problem(f"{file}: it is not JSON ({error})") from None
    for number, one in enumerate(found if isinstance(found, list) else [found], 1):
        pairs = one.items() if isinstance(one, dict) else ()
        text = "; ".join(f"{key}: {value}" for key, value in pairs if value not in (None, "")) or str(one)
        yield Passage(file, f"item {number}", clean(text))


class _Page(HTMLParser):
    """A parser that collects the text of a page, with headings as in Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("script", "style", "noscript", "template")
        if tag in BLOCKS:
            self.parts.append("\n\n" + ("# " if re.fullmatch("h[1-6]", tag) else ""))

    def handle_endtag(self, tag: str) -> None:
        self.hidden = max(0, self.hidden - (tag in ("script", "style", "noscript", "template")))
        if tag in BLOCKS:
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def call(*command: str) -> str:
    """Runs a program and returns its output."""
    if shutil.which(command[0]) is None:
        raise Problem(f"{command[-1]}: it needs {command[0]}, which is not installed")
    done = subprocess.run(command, capture_output=True, timeout=110, check=False)
    if done.returncode != 0:
        raise Problem(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return done.stdout.decode(errors="replace")


def of_pdf(file: str, path: Path) -> Iterator[Passage]:
    """Yields the paragraphs of each page, without lines that are repeated on many pages."""
    pages = call("pdftotext", str(path), "-").split("\f")[:-1]
    seen = Counter(line for page in pages for line in {re.sub(r"\d+", "0", one.strip()) for one in page.split("\n")})
    for number, page in enumerate(pages, 1):
        lines = page.split("\n")
        if len(pages) > 3:
            lines = [
                one for one in lines if not one.strip() or seen[re.sub(r"\d+", "0", one.strip())] * 3 <= len(pages)
            ]
        yield from of_text(file, "\n".join(lines), f"page {number}")


def of_slides(file: str, path: Path) -> Iterator[Passage]:
    with zipfile.ZipFile(path) as package:
        names = [one for one in package.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", one)]
        for number, name in enumerate(sorted(names, key=lambda it: int(re.findall(r"\d+", it)[0])), 1):
            if package.getinfo(name).file_size > 20_000_000:
                raise Problem(f"{file}: slide {number} is too large")
            source = package.read(name).decode(errors="replace")
            texts = re.findall(r"<a:t>([^<]*)</a:t>|(</a:p>)", source)
            text = "".join("\n" if end else one for one, end in texts)
            page = _Page()
            page.feed(text)
            if "".join(page.parts).strip():
                yield Passage(file, f"slide {number}", clean(" ".join("".join(page.parts).split())))


def of_workbook(file: str, path: Path) -> Iterator[Passage]:
    from openpyxl import load_workbook

    for sheet in load_workbook(path, read_only=True, data_only=True).worksheets:
        rows = enumerate(sheet.iter_rows(values_only=True), 1)
        texts = ((n, ["" if one is None else str(one) for one in row]) for n, row in rows)
        yield from of_rows(file, (one for one in texts if any(one[1])), f"{sheet.title} row")


def of_archive(file: str, path: Path, folder: Path) -> Iterator[Path]:
    """Unpacks a ZIP or tar file into a folder, and yields its files."""
    inside: list[tuple[str, int, Callable[[], bytes]]] = []
    if zipfile.is_zipfile(path):
        package = zipfile.ZipFile(path)
        for item in package.infolist():
            if not item.is_dir():
                inside.append((item.filename, item.file_size, lambda item=item: package.read(item)))  # type: ignore[misc]
    else:
        archive = tarfile.open(path)  # noqa: SIM115
        for member in archive:
            if member.isfile() and (opened := archive.extractfile(member)):
                inside.append((member.name, member.size, opened.read))
    if len(inside) > MAX_MEMBERS or sum(size for _, size, _ in inside) > MAX_BYTES:
        raise Problem(f"{file}: it contains more than {MAX_MEMBERS} files or {MAX_BYTES // 10**6} MB")
    for name, _, content in inside:
        target = (folder / name).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise Problem(f"{file}: it has a file outside of its folder: {name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content())
        yield target


def read(path: Path, file: str) -> Iterator[Passage]:
    """Yields the passages of a file. The name determines the format."""
    ending = path.suffix.lower()
    if ending == ".pdf":
        yield from of_pdf(file, path)
    elif ending == ".pptx":
        yield from of_slides(file, path)
    elif ending in (".xlsx", ".xlsm"):
        yield from of_workbook(file, path)
    elif ending in PANDOC:
        yield from of_text(
            file, call("pandoc", "-f", PANDOC[ending], "-t", "markdown", "--wrap=none", str(path)) + "\n\n."
        )
    else:
        content = path.read_bytes()
        if b"\0" in content[:4000] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise Problem(f"{file}: it is not a text file or another supported format")
        try:
            text = content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
        if ending in (".csv", ".tsv"):
            yield from of_csv(file, text)
        elif ending in (".json", ".jsonl", ".ndjson"):
            yield from of_json(file, text)
        elif ending in (".html", ".htm", ".xhtml"):
            page = _Page()
            page.feed(text)
            yield from of_text(file, "".join(page.parts), "text")
        else:
            yield from of_text(file, text)
