"""Characters of a PDF that were drawn as the empty box of their font, or not at all: the font has no sign for them."""

import logging
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pikepdf
from fontTools.ttLib import TTFont, TTLibError

MAX_FORM_DEPTH = 4
BRAILLE_BLANK = "\u2800"


@dataclass
class UsedFont:
    """A font, the first page that writes with it, and the codes that are written."""

    font: Any
    page: int
    used: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        return str(self.font.get("/BaseFont", "")).removeprefix("/")

    @property
    def is_composite(self) -> bool:
        """Whether codes have two bytes and mean glyphs."""
        return "/DescendantFonts" in self.font

    @property
    def inner(self) -> Any:
        return self.font["/DescendantFonts"][0] if self.is_composite else self.font


Search = Callable[[UsedFont, TTFont, dict[int, str]], Iterator[int]]


def unicode_map(stream: bytes) -> dict[int, str]:
    """Codes and what they mean, of a ToUnicode map."""
    found: dict[int, str] = {}
    text = stream.decode("latin-1")
    for block in re.findall(r"beginbfchar(.*?)endbfchar", text, re.S):
        for code, meaning in re.findall(r"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>", block):
            found[int(code, 16)] = bytes.fromhex(meaning).decode("utf-16-be", "replace")
    for block in re.findall(r"beginbfrange(.*?)endbfrange", text, re.S):
        for first, last, meaning in re.findall(r"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>", block):
            start = int.from_bytes(bytes.fromhex(meaning)[-2:], "big")
            for at in range(min(int(last, 16) - int(first, 16) + 1, 256)):
                found[int(first, 16) + at] = chr(min(start + at, 0xFFFF))
        for first, listed in re.findall(r"<([0-9A-Fa-f]+)>\s*<[0-9A-Fa-f]+>\s*\[(.*?)\]", block, re.S):
            for at, meaning in enumerate(re.findall(r"<([0-9A-Fa-f]+)>", listed)):
                found[int(first, 16) + at] = bytes.fromhex(meaning).decode("utf-16-be", "replace")
    return found


def text_bytes(operand: Any) -> bytes:
    """The codes of an operand of a text operator."""
    if isinstance(operand, pikepdf.Array):
        return b"".join(map(text_bytes, operand))
    return bytes(operand) if isinstance(operand, pikepdf.String) else b""


def written(stream: Any, resources: Any, depth: int = 0) -> Iterator[tuple[Any, bytes]]:
    """Fonts and the bytes that a page, or what is drawn on it, writes with them."""
    fonts, current = resources.get("/Font", {}), None
    for step in pikepdf.parse_content_stream(stream, "Tf Tj TJ ' \""):
        if str(step.operator) == "Tf":
            current = fonts.get(str(step.operands[0]))
        elif current is not None:
            yield current, b"".join(map(text_bytes, step.operands))
    for _, one in resources.get("/XObject", {}).items():
        if one.get("/Subtype") == "/Form" and depth < MAX_FORM_DEPTH:
            yield from written(one, one.get("/Resources", resources), depth + 1)


def used_fonts(pdf: pikepdf.Pdf) -> list[UsedFont]:
    """All fonts that pages write with."""
    found: dict[str, UsedFont] = {}
    for number, page in enumerate(pdf.pages, 1):
        for font, text in written(page, page.obj.get("/Resources", pikepdf.Dictionary())):
            one = found.setdefault(f"{font.objgen}{font.get('/BaseFont', '')}", UsedFont(font, number))
            step = 2 if one.is_composite else 1
            one.used.update(int.from_bytes(text[at : at + step], "big") for at in range(0, len(text), step))
    return list(found.values())


def pages_with_boxes(pdf: pikepdf.Pdf) -> Iterator[int]:
    """Pages on which matplotlib drew boxes as pictures, which it does for fonts of the kind Type3."""
    for number, page in enumerate(pdf.pages, 1):
        drawings = page.obj.get("/Resources", pikepdf.Dictionary()).get("/XObject", {})
        if any(name.endswith("-.notdef") for name in drawings):
            yield number


def glyph_names(read: TTFont) -> dict[int, str]:
    """The glyph of each code, of all tables of an embedded font."""
    tables = [table for table in getattr(read.get("cmap"), "tables", []) if table.format in (0, 4, 6)]
    return {code: name for table in tables for code, name in table.cmap.items()}


def simple_boxes(one: UsedFont, read: TTFont, meanings: dict[int, str]) -> Iterator[int]:
    """The codes of a font of one byte a character that are drawn like its sign for what it lacks."""
    names = glyph_names(read)
    lacking = read["glyf"][read.getGlyphOrder()[0]]
    for code in meanings.keys() & one.used:
        name = names.get(code, names.get(0xF000 + code))
        if name is None and "/Encoding" in one.font:
            continue
        if name is None or name == ".notdef" or (lacking.numberOfContours and read["glyf"][name] == lacking):
            yield code


def blanks(one: UsedFont, read: TTFont, meanings: dict[int, str]) -> Iterator[int]:
    """The codes of symbols without any outline: LibreOffice embeds coloured emoji without their colours."""
    names = glyph_names(read)
    for code in meanings.keys() & one.used:
        name = names.get(code, names.get(0xF000 + code))
        is_symbol = unicodedata.category(meanings[code][:1] or " ") == "So" and meanings[code] != BRAILLE_BLANK
        if is_symbol and name is not None and read["glyf"][name].numberOfContours == 0:
            yield code


def of_truetype(one: UsedFont, meanings: dict[int, str], search: Search) -> list[int]:
    """What a search finds in the program of an embedded TrueType font of one byte a character."""
    program = one.font.get("/FontDescriptor", {}).get("/FontFile2")
    if one.is_composite or program is None or not meanings:
        return []
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        with TTFont(BytesIO(program.read_bytes()), lazy=True) as read:
            return list(search(one, read, meanings)) if "glyf" in read else []
    except (TTLibError, KeyError, AssertionError, IndexError, ValueError):
        # A viewer may still read what is damaged.
        return []


def lost_codes(one: UsedFont, meanings: dict[int, str]) -> list[int]:
    """The codes that are drawn as empty boxes."""
    if one.is_composite:
        is_plain = str(one.font.get("/Encoding", "")) in ("/Identity-H", "/Identity-V")
        glyphs = one.inner.get("/CIDToGIDMap", "/Identity")
        # Glyph 0 is the sign for what a font lacks.
        if not is_plain:
            return []
        if not isinstance(glyphs, pikepdf.Stream):
            return [code for code in one.used if code == 0]
        table = glyphs.read_bytes()
        return [code for code in one.used if table[2 * code : 2 * code + 2] in (b"\0\0", b"")]
    return of_truetype(one, meanings, simple_boxes)


def meanings_of(one: UsedFont) -> dict[int, str]:
    """What the codes of a font mean, as far as it says so."""
    return unicode_map(one.font["/ToUnicode"].read_bytes()) if "/ToUnicode" in one.font else {}


def blank_characters(one: UsedFont) -> list[str]:
    """The symbols that are not drawn at all, with their numbers."""
    meanings = meanings_of(one)
    found = {meanings[code] for code in of_truetype(one, meanings, blanks)}
    return [f"U+{ord(text[0]):04X} {text}" for text in sorted(found)]


def lost_characters(one: UsedFont) -> list[str]:
    """What is drawn as empty boxes: characters with their numbers, or how many are not known."""
    meanings = meanings_of(one)
    lost = [meanings.get(code, "") for code in lost_codes(one, meanings)]
    # What has no sign, as a line break or a joiner, is not missed.
    signs = {text for text in lost if text and not all(unicodedata.category(one)[0] in "CZ" for one in text)}
    shown = [f"U+{ord(text[0]):04X} {text}" for text in sorted(signs)]
    return shown + (["characters that it does not name"] if "" in lost else [])
