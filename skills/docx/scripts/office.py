"""Office files as untrusted packages, and LibreOffice. This file is the same in docx, pptx and spreadsheet."""

import contextlib
import fcntl
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from xml.parsers import expat

sys.dont_write_bytecode = True

MAX_PARTS = 20_000
MAX_PART_BYTES = 128 * 1024 * 1024
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
# Recompute every formula of a workbook that is loaded.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="ODFRecalcMode" oor:op="fuse">
<value>0</value></prop></item>
</oor:items>
"""


def _one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Reports a missing library in one line, without a traceback."""
    if isinstance(error, ModuleNotFoundError):
        print(f"{Path(sys.argv[0]).stem}: the Python library {error.name} is not installed", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _one_line


class Problem(Exception):
    """An error that the caller can correct. Its text is one line."""


def run(main: Callable[[], int | None]) -> None:
    """Runs a script. Prints any error as one line on standard error, and exits with status 1."""
    tool = Path(sys.argv[0]).stem
    try:
        sys.exit(main() or 0)
    except Problem as problem:
        message = str(problem)
    except MemoryError:
        message = "not enough memory for this file"
    except Exception as error:
        message = f"the file cannot be processed ({type(error).__name__}: {error})"
    print(f"{tool}: {' '.join(message.split())[:500]}", file=sys.stderr)
    sys.exit(1)


def check_package(path: Path, part: str) -> None:
    """Rejects a file that is not a ZIP with `part`, is too large, or has XML that declares entities."""
    if not path.is_file():
        raise Problem(f"{path}: there is no such file")
    try:
        with zipfile.ZipFile(path) as package:
            entries = package.infolist()
            names = {entry.filename for entry in entries}
            if part not in names:
                raise Problem(f"{path}: it has no {part}, so it is not a file of this kind")
            if len(entries) > MAX_PARTS or sum(entry.file_size for entry in entries) > MAX_TOTAL_BYTES:
                raise Problem(f"{path}: it is too large when unpacked")
            for entry in entries:
                if entry.filename.endswith((".xml", ".rels", ".vml")):
                    _check_part(package, entry, path)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise Problem(f"{path}: it is damaged or encrypted ({error})") from None


def _check_part(package: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> None:
    if entry.file_size > MAX_PART_BYTES:
        raise Problem(f"{path}: {entry.filename} is too large when unpacked")
    found: list[str] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: found.append("doctype")
    parser.StartElementHandler = lambda *_: found.append("root")
    try:
        with package.open(entry) as part:
            while not found and (chunk := part.read(4096)):
                parser.Parse(chunk)
    except expat.ExpatError as error:
        raise Problem(f"{path}: {entry.filename} is not well-formed XML ({error})") from None
    if found[:1] != ["root"]:
        raise Problem(f"{path}: {entry.filename} declares a document type or is empty, which is not allowed")


def read_json(path: str) -> object:
    """Returns the JSON of a file, or of standard input for `-`."""
    try:
        return json.loads(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Problem(f"{path}: it cannot be read as JSON ({error})") from None


@contextlib.contextmanager
def _profile() -> Iterator[Path]:
    """Yields a LibreOffice profile that later calls reuse. Only one LibreOffice can use it at a time."""
    folder = Path(tempfile.gettempdir()) / "skill-office-profile"
    (folder / "user").mkdir(parents=True, exist_ok=True)
    settings = folder / "user" / "registrymodifications.xcu"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not settings.exists():
            settings.write_text(SETTINGS, encoding="utf-8")
        yield folder


def convert(source: Path, target: str, folder: Path, timeout: int = 240) -> Path:
    """Converts a file with LibreOffice, for example to `pdf` or `xlsx:Calc MS Excel 2007 XML`."""
    program = shutil.which("soffice")
    if program is None:
        raise Problem("soffice is not installed (LibreOffice)")
    folder.mkdir(parents=True, exist_ok=True)
    with _profile() as profile:
        setting = f"-env:UserInstallation={profile.absolute().as_uri()}"
        command = [program, setting, "--headless", "--norestore", "--convert-to", target]
        command += ["--outdir", str(folder), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            raise Problem(f"{source}: LibreOffice needs more than {timeout} seconds") from None
    made = folder / f"{source.stem}.{target.split(':', maxsplit=1)[0]}"
    if not made.is_file():
        raise Problem(f"{source}: LibreOffice cannot convert it ({done.stderr.strip() or done.stdout.strip()})")
    return made


def draw(pdf: Path, folder: Path, dpi: int) -> list[Path]:
    """Draws the pages of a PDF as page-1.png and so on."""
    if shutil.which("pdftoppm") is None:
        raise Problem("pdftoppm is not installed (poppler-utils)")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("page-*.png"):
        old.unlink()
    command = ["pdftoppm", "-r", str(dpi), "-png", str(pdf), str(folder / "page")]
    subprocess.run(command, capture_output=True, check=True, timeout=240)
    return sorted(folder.glob("page-*.png"))


def contact_sheet(pages: list[Path], sheet: Path, columns: int, width: int) -> None:
    """Combines pages into one picture, side by side and numbered."""
    from PIL import Image, ImageDraw, ImageFont

    pictures = [Image.open(page).convert("RGB") for page in pages]
    height = max(round(picture.height * width / picture.width) for picture in pictures)
    rows = -(-len(pictures) // columns)
    columns = min(columns, len(pictures))
    gap, label = 12, 22
    size = (gap + columns * (width + gap), gap + rows * (height + label + gap))
    canvas = Image.new("RGB", size, "#d5d9de")
    pen = ImageDraw.Draw(canvas)
    font = ImageFont.truetype("DejaVuSans.ttf", 14)
    for index, picture in enumerate(pictures):
        x = gap + index % columns * (width + gap)
        y = gap + index // columns * (height + label + gap)
        small = picture.resize((width, round(picture.height * width / picture.width)))
        canvas.paste(small, (x, y + label))
        pen.text((x, y + 2), str(index + 1), fill="#22303c", font=font)
    canvas.save(sheet)


def empty_share(page: Path) -> float:
    """Returns the share of a page that is empty at the bottom. Ignores the outer 8 percent, which contain footers."""
    from PIL import Image

    picture = Image.open(page).convert("L")
    inside = picture.crop((0, picture.height * 8 // 100, picture.width, picture.height * 92 // 100))
    found = inside.point(lambda value: 255 if value < 200 else 0).getbbox()
    return 1.0 if found is None else 1 - found[3] / inside.height
