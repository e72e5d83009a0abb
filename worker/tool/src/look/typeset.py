"""Pages for texts, tables, books and fonts, which a browser renders."""

import csv
import html
import io
import itertools
import pathlib
import posixpath
import xml.etree.ElementTree as etree
from urllib.parse import unquote

# Narrower than a window, for readable lines of text.
TEXT_WIDTH = 900
MOST_TEXT_BYTES = 2_000_000
MOST_LINES = 2_000
MOST_ROWS, MOST_COLUMNS = 500, 40
MOST_CHAPTERS = 60
# No further chapter is printed if less than this time is left for the browser.
RESERVE_SECONDS = 12
# A5 in inches, a typical size of e-readers.
BOOK_WIDTH, BOOK_HEIGHT, BOOK_MARGIN = 5.83, 8.27, 0.5
READERS = {
    ".md": "gfm", ".markdown": "gfm", ".mdx": "gfm", ".rst": "rst", ".org": "org", ".tex": "latex", ".latex": "latex",
    ".ipynb": "ipynb", ".textile": "textile", ".mediawiki": "mediawiki", ".t2t": "t2t", ".fb2": "fb2", ".opml": "opml",
}
TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
STYLE = """
body { font: 16px/1.55 system-ui, "Noto Sans", "DejaVu Sans", sans-serif; color: #1c2733; background: #fff;
       max-width: 780px; margin: 40px auto; padding: 0 24px }
h1, h2, h3 { line-height: 1.25 } img, svg, video { max-width: 100% } a { color: #1f5fa8 }
pre, code { font-family: "DejaVu Sans Mono", monospace; font-size: 13px } pre { white-space: pre-wrap; overflow-wrap: anywhere }
div.sourceCode, pre:not(.plain) { background: #f4f6f8; padding: 10px 12px; border-radius: 4px } div.sourceCode pre { padding: 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } th, td { border: 1px solid #cfd6dd; padding: 4px 10px; vertical-align: top }
th { background: #eef1f4; text-align: left } td.number { text-align: right } blockquote { border-left: 3px solid #cfd6dd; margin-left: 0; padding-left: 16px }
.sheet { max-width: none; margin: 16px } .sheet td, .sheet th { font-size: 13px; max-width: 320px; overflow-wrap: anywhere }
"""


def written(folder, title, body, head="", kind=""):
    """Writes a page to a folder and returns its path."""
    target = os.path.join(folder, "page.html")
    with open(target, "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title>'
            f"<style>{STYLE}</style>{head}<body class=\"{kind}\">{body}"
        )
    return target


def shown(target, asked, report, width=TEXT_WIDTH):
    page(target, {**asked, "width": asked.get("width") or width}, report)


def text(path, asked, report):
    """Renders markup and tables as typeset text, and other text unchanged."""
    suffix = os.path.splitext(path)[1].lower()
    with tempfile.TemporaryDirectory() as folder:
        if suffix in READERS and shutil.which("pandoc"):
            shown(marked_up(path, READERS[suffix], folder), asked, report)
            return
        with open(path, "rb") as file:
            content = file.read(MOST_TEXT_BYTES + 1)
        if len(content) > MOST_TEXT_BYTES:
            content = content[:MOST_TEXT_BYTES]
            report.notes.append(f"only the first {MOST_TEXT_BYTES // 1_000_000} MB are shown")
        try:
            words = content.decode("utf-8-sig", "strict" if len(content) < MOST_TEXT_BYTES else "ignore")
        except UnicodeDecodeError:
            words = content.decode("cp1252", "replace")
            report.notes.append("it is not UTF-8; it is shown as Windows-1252")
        if suffix in TABLES:
            shown(table(path, words, suffix, folder, report), asked, report, 1200)
            return
        if suffix in READERS:
            report.notes.append("it is shown as plain text: the program pandoc, which typesets it, is missing")
        lines = words.splitlines()
        if len(lines) > MOST_LINES:
            report.notes.append(f"only the first {MOST_LINES} of {len(lines)} lines are shown")
        body = f'<pre class="plain">{html.escape(chr(10).join(lines[:MOST_LINES]))}</pre>'
        shown(written(folder, os.path.basename(path), body), asked, report)


def marked_up(path, reader, folder):
    """Converts a text with pandoc, which reads no other file. The browser loads the pictures."""
    head, target = os.path.join(folder, "head.html"), os.path.join(folder, "page.html")
    with open(head, "w", encoding="utf-8") as file:
        base = pathlib.Path(path).parent.as_uri()
        file.write(f'<base href="{html.escape(base)}/"><style>{STYLE}</style>')
    # A text that begins with a horizontal rule may look as if it had metadata. The second reader expects none.
    plain_text = "gfm+tex_math_dollars"
    readers = [f"{plain_text}+yaml_metadata_block", plain_text] if reader == "gfm" else [reader]
    for one in readers:
        try:
            run(
                "pandoc", "-f", one, "-t", "html5", "--standalone", "--sandbox", "--mathml", "-M", "document-css=false",
                "-M", f"pagetitle={os.path.basename(path)}", "-H", head, "-o", target, path,
            )
            break
        except Trouble:
            if one == readers[-1]:
                raise
    return target


def table(path, words, suffix, folder, report):
    sample = words[:20_000]
    try:
        dialect = csv.Sniffer().sniff(sample, delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
        dialect.delimiter = TABLES[suffix]
    csv.field_size_limit(MOST_TEXT_BYTES)
    rows = list(csv.reader(io.StringIO(words, newline=""), dialect))
    columns = max(map(len, rows), default=0)
    report.notes.append(f"{len(rows)} rows, {columns} columns")
    if len(rows) > MOST_ROWS or columns > MOST_COLUMNS:
        report.notes.append(f"at most {MOST_ROWS} rows and {MOST_COLUMNS} columns are shown")
    uneven = [number for number, row in enumerate(rows, 1) if row and len(row) != columns]
    if uneven:
        report.notes.append(f"rows with fewer columns: {len(uneven)}, the first is row {uneven[0]}")
    body = ["<table>"]
    for number, row in enumerate(rows[:MOST_ROWS]):
        cells = []
        for cell in row[:MOST_COLUMNS]:
            is_number = re.fullmatch(r"\s*[-+]?[\d.,'\s]*\d\s*%?\s*", cell)
            tag = "th" if number == 0 else 'td class="number"' if is_number else "td"
            cells.append(f"<{tag}>{html.escape(cell)}</{tag[:2]}>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return written(folder, os.path.basename(path), "".join(body), kind="sheet")


def local(element):
    return element.tag.rsplit("}", 1)[-1] if isinstance(element.tag, str) else ""


def chapters(folder, report):
    """Returns the documents of a book in order, and reports its metadata."""
    inside = lambda *parts: os.path.normpath(os.path.join(folder, *parts))  # noqa: E731
    try:
        container = etree.parse(inside("META-INF/container.xml"))
        root = next(one.get("full-path") for one in container.iter() if local(one) == "rootfile")
        package = etree.parse(inside(root))
    except (OSError, etree.ParseError, StopIteration, TypeError) as error:
        raise Trouble(f"it is not a readable EPUB book: {error or 'it names no package'}") from error
    about, items, spine = {}, {}, []
    for element in package.iter():
        name = local(element)
        if name in ("title", "creator", "language") and element.text:
            about.setdefault(name, plain(element.text, 80))
        elif name == "item":
            items[element.get("id")] = element
        elif name == "itemref":
            spine.append(element.get("idref"))
    has_cover = any("cover-image" in (one.get("properties") or "") for one in items.values()) or any(
        local(one) == "meta" and one.get("name") == "cover" for one in package.iter()
    )
    files = []
    for one in spine:
        href = items[one].get("href") if one in items else None
        target = inside(posixpath.dirname(root), unquote(href)) if href else ""
        if target.startswith(folder + os.sep) and os.path.isfile(target):
            files.append(target)
        else:
            report.notes.append(f"the spine names {plain(str(href or one), 60)}, which is missing")
    report.notes.append(
        f"title: {about.get('title', 'none')}; author: {about.get('creator', 'none')}; language: "
        f"{about.get('language', 'none')}; {len(files)} documents; {'with' if has_cover else 'no'} cover picture"
    )
    if not files:
        raise Trouble("the book has no text")
    return files


def book(path, asked, report):
    """Renders an EPUB book on pages of the size of an e-reader, with its own style."""
    with tempfile.TemporaryDirectory() as made:
        folder = os.path.join(os.path.realpath(made), "book")
        unpack(path, folder)
        files = chapters(folder, report)
        browser = Browser(560, 800)
        parts = []
        try:
            for number, file in enumerate(files[:MOST_CHAPTERS]):
                if browser.deadline - time.monotonic() < RESERVE_SECONDS:
                    break
                browser.open(pathlib.Path(file).as_uri())
                printed = browser.call(
                    "Page.printToPDF", paperWidth=BOOK_WIDTH, paperHeight=BOOK_HEIGHT, printBackground=True,
                    **{f"margin{side}": BOOK_MARGIN for side in ("Top", "Bottom", "Left", "Right")},
                )
                parts.append(os.path.join(made, f"part-{number}.pdf"))
                with open(parts[-1], "wb") as target:
                    target.write(base64.b64decode(printed["data"]))
        finally:
            browser.close()
        if len(parts) < len(files):
            report.notes.append(f"only the first {len(parts)} of its {len(files)} documents are shown")
        whole = parts[0]
        if len(parts) > 1:
            whole = os.path.join(made, "whole.pdf")
            run("pdfunite", *parts, whole)
        pdf(whole, asked, report)
    report.notes.append("the pages have the size A5; e-readers use their own page size")


def unpack(path, folder):
    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(archive)
            archive.extractall(folder)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as error:
        raise Trouble(f"the archive cannot be unpacked: {error}") from error


def font(path, asked, report):
    """Renders a specimen of a font: its names, letters in several sizes, and samples of all its characters."""
    sample, others = "The quick brown fox jumps over the lazy dog. 0123456789", ""
    name = os.path.basename(path)
    with tempfile.TemporaryDirectory() as folder:
        source = path
        try:
            from fontTools.ttLib import TTFont, TTLibError
        except ImportError:
            report.notes.append("its contents are not measured: the Python package fonttools is missing")
        else:
            try:
                with TTFont(path, fontNumber=0, lazy=True) as read:
                    characters = sorted(read.getBestCmap() or {})
                    describe(read, characters, report)
                    names = read["name"]
                    name = names.getDebugName(4) or names.getDebugName(1) or name
                    if is_collection(path):
                        report.notes.append("it is a collection; its first font is shown")
                        source = os.path.join(folder, "first.ttf")
                        read.save(source)
            except (TTLibError, KeyError, AssertionError, OSError, ImportError) as error:
                raise Trouble(f"it cannot be read as a font: {error}") from error
            has = set(characters)
            if not all(ord(one) in has for one in "Quick"):
                sample = ""
            rest = [one for one in characters if one > 0x7E and unicodedata.category(chr(one))[0] not in "CZM"]
            step = max(1, len(rest) // 240)
            others = "".join(f"<span>&#{one};</span>" for one in itertools.islice(rest[::step], 240))
        source = pathlib.Path(source).as_uri()
        head = (
            f'<style>@font-face {{ font-family: shown; src: url("{source}") }} body {{ max-width: none }}'
            "p { font-family: shown, 'Adobe Blank'; margin: 8px 0; overflow-wrap: anywhere; line-height: 1.3 }"
            "div { font-family: shown; font-size: 30px } span { display: inline-block; min-width: 46px; padding: 4px 0 }</style>"
        )
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz 0123456789 .,;:!?&amp;@#%€ “” ‘’ – — ()[]{}"
        sizes = "".join(f'<p style="font-size: {size}px">{sample}</p>' for size in (12, 16, 24, 36, 60) if sample)
        letters = f'<p style="font-size: 32px">{letters}</p>' if sample else ""
        body = f"<h1>{html.escape(name)}</h1>{letters}{sizes}<div>{others}</div>"
        shown(written(folder, name, body, head), asked, report, 1200)


def is_collection(path):
    with open(path, "rb") as file:
        return file.read(4) == b"ttcf"


def describe(read, characters, report):
    """Reports the names, glyph count, scripts and axes of a font."""
    scripts = {}
    for one in characters:
        first = unicodedata.name(chr(one), "").split(" ")[0]
        scripts[first] = scripts.get(first, 0) + 1
    most = sorted(scripts.items(), key=lambda it: -it[1])[:8]
    names = [read["name"].getDebugName(number) for number in (1, 2)]
    report.notes.append(
        f"{plain(' '.join(filter(None, names)), 80)}: {read['maxp'].numGlyphs} glyphs for {len(characters)} characters, most "
        + ", ".join(f"{name} {count}" for name, count in most if name)
    )
    if "fvar" in read:
        axes = [f"{axis.axisTag} {axis.minValue:g} to {axis.maxValue:g}" for axis in read["fvar"].axes]
        report.notes.append("variable: " + ", ".join(axes))


def sound(path, asked, report):
    """Renders the waveform and the spectrum of a sound file."""
    about = json.loads(run(
        "ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries",
        "stream=codec_name,sample_rate,channels:format=duration", "-of", "json", path,
    ))
    stream = (about.get("streams") or [None])[0]
    if not stream:
        raise Trouble("the file has no sound")
    duration = float(about.get("format", {}).get("duration") or 0)
    report.unit, report.total = "picture", 2
    report.notes.append(
        f"{duration:.1f} s, {plain(str(stream.get('codec_name')), 20)}, {stream.get('sample_rate')} Hz, "
        f"{stream.get('channels')} channels"
    )
    measured = subprocess.run(
        ["ffmpeg", "-hide_banner", "-nostats", "-i", path, "-map", "0:a:0", "-af", "volumedetect", "-f", "null", "-"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    ).stderr.decode(errors="replace")
    loudness = re.findall(r"(mean|max)_volume: (-?[\d.]+|-inf) dB", measured)
    report.notes.append("; ".join(f"{kind} volume {level} dB" for kind, level in loudness) or "its volume is unknown")
    wave = "showwavespic=s=1500x420:split_channels=1:colors=0x1f5fa8|0xb5541f"
    for kind, drawing in (
        ("waveform", f"color=white:s=1500x420:d=1[ground];[0:a:0]{wave}[wave];[ground][wave]overlay=format=auto"),
        # With a height that is not a power of two, ffmpeg does not end.
        ("spectrum over time, low tones at the bottom", "[0:a:0]showspectrumpic=s=1024x512:legend=1"),
    ):
        if asked.get("pages") and len(report.shown) + 1 not in numbers(asked["pages"], 2):
            continue
        run("ffmpeg", "-v", "error", "-y", "-i", path, "-filter_complex", drawing, "-frames:v", "1", report.file())
        report.add(str(len(report.shown) + 1), [kind])
