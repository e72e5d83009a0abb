"""Renders pages of a file to PNG files, with the programs of the worker, and reports measurements."""

import math
import re
import unicodedata
import zipfile

PAGES_AT_ONCE = 12
MOST_PAGES = 30
LONG_EDGE = 1568
# The size for pages in a contact sheet, which is scaled down.
SHEET_EDGE = 900
MOST_BOXES = 40
# Office files are archives. Real documents do not contain this much data.
MOST_UNPACKED_BYTES = 400_000_000
PACKAGES = {
    "pdftoppm": "poppler-utils", "pdfinfo": "poppler-utils", "soffice": "libreoffice", "ffmpeg": "ffmpeg",
    "ffprobe": "ffmpeg", "rsvg-convert": "librsvg2-bin", "pandoc": "pandoc",
    "pdfunite": "poppler-utils",
}


def run(*arguments, seconds=60):
    """Returns the output of a program. A missing or failed program is reported to the model."""
    name = arguments[0]
    if shutil.which(name) is None:
        raise Trouble(
            f"this worker cannot show such a file: the program {name} is missing (Debian package {PACKAGES[name]})"
        )
    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Trouble(f"{name} did not finish within {seconds} s") from error
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Trouble(f"{name} could not read the file: {words[-1][:300] if words else 'no reason was given'}")
    return done.stdout.decode(errors="replace")


def plain(text, most=120):
    """Returns text of the file as one line."""
    text = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in text)
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def numbers(pages, total):
    """Returns the page numbers in a list such as `3` or `1-4,7`."""
    if not pages:
        return list(range(1, min(total, PAGES_AT_ONCE) + 1))
    wanted = []
    for part in pages.split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6}))?\s*", part)
        if not ends:
            raise Trouble(f"pages: `{pages}` is not a list of numbers like `3` or `1-4,7`")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        wanted += range(first, min(last, first + MOST_PAGES) + 1)
    wanted = list(dict.fromkeys(wanted))
    beyond = [number for number in wanted if not 1 <= number <= total]
    if beyond or not wanted:
        raise Trouble(f"pages: there is no page {beyond[0] if beyond else pages}; the file has {total}")
    if len(wanted) > MOST_PAGES:
        raise Trouble(f"pages: more than {MOST_PAGES} pages cannot be shown at once")
    return wanted


class Report:
    """The report that the worker reads."""

    def __init__(self, asked):
        self.prefix, self.path = asked["prefix"], asked["report"]
        self.unit, self.total, self.shown, self.notes = "page", 1, [], []

    def file(self):
        """Returns the path of the next picture."""
        return f"{self.prefix}-{len(self.shown) + 1}.png"

    def add(self, label, facts=()):
        self.shown.append({"label": label, "facts": list(facts)})

    def write(self):
        fields = {key: getattr(self, key) for key in ("unit", "total", "shown", "notes")}
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(fields, file)


def pdf(path, asked, report):
    about = run("pdfinfo", path)
    total = re.search(r"^Pages:\s+(\d+)", about, re.M)
    if not total or total[1] == "0":
        raise Trouble("the file has no pages")
    report.total = int(total[1])
    wanted = numbers(asked.get("pages"), report.total)
    edge = min(asked.get("width") or LONG_EDGE, LONG_EDGE) if len(wanted) == 1 else SHEET_EDGE
    if fonts := pdf_fonts(path):
        report.notes.append(fonts)
    for number in wanted:
        side = "-scale-to-x" if len(wanted) == 1 and asked.get("width") else None
        scale = [side, str(edge), "-scale-to-y", "-1"] if side else ["-scale-to", str(edge)]
        target = report.file()
        run("pdftoppm", "-png", "-singlefile", "-cropbox", *scale, "-f", str(number), "-l", str(number), path, target[:-4])
        report.add(str(number), page_text(path, number, len(wanted) == 1))


def pdf_fonts(path):
    try:
        lines = run("pdffonts", "-l", "50", path, seconds=20).splitlines()[2:]
    except Trouble:
        return None
    fonts = []
    for line in lines[:30]:
        name = plain(line.split()[0] if line.split() else "", 60)
        flags = line.split()[-5:-4]
        fonts.append(f"{name.split('+')[-1]}{'' if flags == ['yes'] else ' (not embedded)'}")
    return "fonts: " + ", ".join(dict.fromkeys(fonts)) if fonts else "fonts: none, so there is no text in it"


def page_text(path, number, in_detail):
    """Returns the size of a page and its blocks of text, in percent of the page."""
    try:
        page = run(
            "pdftotext", "-bbox-layout", "-cropbox", "-f", str(number), "-l", str(number), path, "-", seconds=20
        )
    except Trouble:
        return []
    size = re.search(r'<page width="([\d.]+)" height="([\d.]+)"', page)
    if not size:
        return []
    width, height = (max(float(edge), 1) for edge in size.groups())
    facts = [f"{width:.0f} × {height:.0f} pt"]
    blocks = re.findall(r"<block ([^>]*)>(.*?)</block>", page, re.S)
    if not in_detail:
        return [*facts, f"{len(blocks)} blocks of text"]
    for attributes, inside in blocks[:MOST_BOXES]:
        box = {key: float(value) for key, value in re.findall(r'(\w+)="([-\d.]+)"', attributes)}
        lines = re.findall(r'<line [^>]*yMin="([-\d.]+)"[^>]*yMax="([-\d.]+)"', inside)
        tall = max((float(bottom) - float(top) for top, bottom in lines), default=0)
        words = re.findall(r"<word [^>]*>(.*?)</word>", inside, re.S)
        text = plain(" ".join(words).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"), 60)
        left, right = box["xMin"] / width * 100, box["xMax"] / width * 100
        top, bottom = box["yMin"] / height * 100, box["yMax"] / height * 100
        facts.append(f"text at x {left:.0f} to {right:.0f} %, y {top:.0f} to {bottom:.0f} %, lines {tall:.0f} pt tall: {text}")
    if len(blocks) > MOST_BOXES:
        facts.append(f"and {len(blocks) - MOST_BOXES} more blocks of text")
    return facts


def check_unpacked(archive):
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > MOST_UNPACKED_BYTES:
        raise Trouble(f"the file is an archive that unpacks to {unpacked} bytes, which is more than can be shown")


def office(path, asked, report):
    """Renders documents, slides and sheets as they are printed."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            check_unpacked(archive)
    # Comments are printed next to the text.
    is_text = re.search(r"wordprocessingml|opendocument\.text|msword|rtf", asked["content_type"])
    target = 'pdf:writer_pdf_Export:{"ExportNotesInMargin":{"type":"boolean","value":"true"}}' if is_text else "pdf"
    with tempfile.TemporaryDirectory() as folder:
        run(
            "soffice", "--headless", "--norestore", f"-env:UserInstallation=file://{folder}/profile",
            "--convert-to", target, "--outdir", folder, path, seconds=100,
        )
        made = [name for name in os.listdir(folder) if name.endswith(".pdf")]
        if not made:
            raise Trouble("soffice could not read the file")
        if re.search(r"presentation|powerpoint", asked["content_type"]):
            report.unit = "slide"
        pdf(os.path.join(folder, made[0]), asked, report)
    if re.search(r"sheet|excel", asked["content_type"]):
        report.notes.append("sheets are shown as they are printed, one after the other")


def drawing(path, asked, report):
    edge = str(min(asked.get("width") or LONG_EDGE, LONG_EDGE))
    target = report.file()
    if asked["content_type"] == "image/svg+xml":
        if shutil.which("rsvg-convert"):
            run("rsvg-convert", "--keep-aspect-ratio", "-w", edge, "-h", edge, "-o", target, path)
        else:
            page(path, asked, report)
            return
    elif shutil.which("ffmpeg"):
        scale = f"scale=w={edge}:h={edge}:force_original_aspect_ratio=decrease"
        run("ffmpeg", "-v", "error", "-y", "-i", path, "-frames:v", "1", "-vf", scale, target)
    else:
        raise Trouble("this worker cannot show such an image: convert it to PNG, or install ffmpeg")
    report.add("1")


MEASURE = """
() => {
  const root = document.documentElement, boxes = [];
  const walker = document.createTreeWalker(document.body || root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && boxes.length < 400) {
    const text = walker.currentNode.textContent.trim(), range = document.createRange();
    if (!text) continue;
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect(), style = getComputedStyle(walker.currentNode.parentElement);
    if (box.width < 1 || box.height < 1 || style.visibility === 'hidden') continue;
    boxes.push({x: Math.round(box.x + scrollX), y: Math.round(box.y + scrollY), w: Math.round(box.width),
                h: Math.round(box.height), size: style.fontSize, font: style.fontFamily.split(',')[0], text: text.slice(0, 60)});
  }
  return {width: root.scrollWidth, window: innerWidth, boxes,
          broken: [...document.images].filter(it => it.complete && !it.naturalWidth).length};
}
"""


def page(path, asked, report):
    """Renders an HTML page as a browser shows it, in screens from top to bottom."""
    width = asked.get("width") or 1200
    screen = width * 2 if width < 700 else width * 3 // 4
    browser = Browser(width, screen)
    try:
        browser.open(pathlib.Path(path).as_uri())
        found = browser.evaluate(MEASURE)
        size = browser.call("Page.getLayoutMetrics")["cssContentSize"]
        height = max(1, min(math.ceil(size["height"]), MAX_PIXELS))
        report.unit, report.total = "screen", math.ceil(height / screen)
        wanted = numbers(asked.get("pages"), report.total)
        for number in wanted:
            top = (number - 1) * screen
            clip = {"x": 0, "y": top, "width": width, "height": min(screen, height - top), "scale": 1}
            shot = browser.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
            with open(report.file(), "wb") as file:
                file.write(base64.b64decode(shot["data"]))
            report.add(str(number), screen_text(found["boxes"], top, top + screen) if len(wanted) == 1 else ())
    finally:
        browser.close()
    report.notes.append(f"the page is {width} px wide and {height} px tall; a screen is {screen} px")
    if found["width"] > width:
        excess = found["width"] - width
        report.notes.append(f"it is {excess} px wider than the window: it scrolls horizontally")
    if found["broken"]:
        report.notes.append(f"{found['broken']} images are broken")
    fonts = dict.fromkeys(plain(box["font"], 40).strip("\"'") for box in found["boxes"])
    report.notes.append("fonts: " + (", ".join(list(fonts)[:12]) or "none, so there is no text in it"))


def screen_text(boxes, top, bottom):
    boxes = [box for box in boxes if top <= box["y"] < bottom]
    facts = [
        f"text at x {box['x']} to {box['x'] + box['w']} px, y {box['y']} to {box['y'] + box['h']} px, {box['size']}: "
        + plain(box["text"], 60)
        for box in boxes[:MOST_BOXES]
    ]
    return facts + ([f"and {len(boxes) - MOST_BOXES} more texts"] if len(boxes) > MOST_BOXES else [])


def film(path, asked, report):
    about = json.loads(run(
        "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
        "stream=width,height,avg_frame_rate,codec_name:format=duration", "-of", "json", path,
    ))
    stream = (about.get("streams") or [None])[0]
    if not stream:
        raise Trouble("the file has no video")
    duration = float(about.get("format", {}).get("duration") or 0)
    report.unit = "second"
    report.total = math.ceil(duration)
    report.notes.append(
        f"{stream.get('width')} × {stream.get('height')} px, {duration:.1f} s, {stream.get('avg_frame_rate')} frames/s, "
        f"{plain(str(stream.get('codec_name')), 20)}"
    )
    times = seconds(asked.get("pages"), duration)
    edge = LONG_EDGE if len(times) == 1 else SHEET_EDGE
    scale = f"scale=w={edge}:h={edge}:force_original_aspect_ratio=decrease"
    for time_ in times:
        target = report.file()
        run("ffmpeg", "-v", "error", "-y", "-ss", f"{time_:.2f}", "-i", path, "-frames:v", "1", "-vf", scale, target)
        if os.path.exists(target):
            report.add(f"{int(time_) // 60}:{time_ % 60:04.1f}")
    if not report.shown:
        raise Trouble("the video has no frame at these times")


def seconds(pages, duration):
    """Returns the times in a list such as `4.5` or `0,10,1:20`. By default, returns nine evenly spaced times."""
    if not pages:
        count = 9 if duration >= 2 else 3
        return [duration * (2 * number + 1) / (2 * count) for number in range(count)]
    times = []
    for part in pages.split(","):
        found = re.fullmatch(r"\s*(?:(\d{1,4}):)?(\d{1,6}(?:\.\d+)?)\s*", part)
        if not found:
            raise Trouble(f"pages: `{pages}` is not a list of times in seconds like `4.5` or `0,10,1:20`")
        times.append(int(found[1] or 0) * 60 + float(found[2]))
    if max(times) > duration or len(times) > MOST_PAGES:
        raise Trouble(f"pages: up to {MOST_PAGES} times within the video's {duration:.1f} s can be shown")
    return times


def render():
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            asked = json.load(file)
        path = os.path.realpath(asked["path"])
        report = Report(asked)
        ways = {
            "pdf": pdf, "office": office, "drawing": drawing, "page": page, "film": film, "sound": sound, "text": text,
            "book": book, "font": font,
        }
        ways[asked["source"]](path, asked, report)
        report.write()
    except Trouble as trouble:
        sys.exit(str(trouble))


render()
