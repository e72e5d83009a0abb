"""Characters of a PDF that its fonts cannot draw. They are shown as empty boxes or not at all."""

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
    """A font, the first page that uses it, and the codes that are drawn with it."""

    font: Any
    page: int
    used: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        return str(self.font.get("/BaseFont", "")).removeprefix("/")

    @property
    def is_composite(self) -> bool:
        """Whether codes have two bytes and refer to glyphs."""
        return "/DescendantFonts" in self.font

    @property
    def inner(self) -> Any:
        return self.font["/DescendantFonts"][0] if self.is_composite else self.font


Search = Callable[[UsedFont, TTFont, dict[int, str]], Iterator[int]]


def unicode_map(stream: bytes) -> dict[int, str]:
    """Returns the codes of a ToUnicode map with their characters."""
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
    """Returns the codes in an operand of a text operator."""
    if isinstance(operand, pikepdf.Array):
        return b"".join(map(text_bytes, operand))
    return bytes(operand) if isinstance(operand, pikepdf.String) else b""


def written(stream: Any, resources: Any, depth: int = 0) -> Iterator[tuple[Any, bytes]]:
    """Yields the fonts of a page and of the forms that it draws, with the bytes that are drawn with each."""
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
    """Returns all fonts that pages use."""
    found: dict[str, UsedFont] = {}
    for number, page in enumerate(pdf.pages, 1):
        for font, text in written(page, page.obj.get("/Resources", pikepdf.Dictionary())):
            one = found.setdefault(f"{font.objgen}{font.get('/BaseFont', '')}", UsedFont(font, number))
            step = 2 if one.is_composite else 1
            one.used.update(int.from_bytes(text[at : at + step], "big") for at in range(0, len(text), step))
    return list(found.values())


def pages_with_boxes(pdf: pikepdf.Pdf) -> Iterator[int]:
    """Yields pages on which matplotlib drew boxes as pictures, which it does for Type3 fonts."""
    for number, page in enumerate(pdf.pages, 1):
        drawings = page.obj.get("/Resources", pikepdf.Dictionary()).get("/XObject", {})
        if any(name.endswith("-.notdef") for name in drawings):
            yield number


def glyph_names(read: TTFont) -> dict[int, str]:
    """Returns the glyph name of each code, from all tables of an embedded font."""
    tables = [table for table in getattr(read.get("cmap"), "tables", []) if table.format in (0, 4, 6)]
    return {code: name for table in tables for code, name in table.cmap.items()}


def simple_boxes(one: UsedFont, read: TTFont, meanings: dict[int, str]) -> Iterator[int]:
    """Yields the codes of a one-byte font that are drawn like its glyph for missing characters."""
    names = glyph_names(read)
    lacking = read["glyf"][read.getGlyphOrder()[0]]
    for code in meanings.keys() & one.used:
        name = names.get(code, names.get(0xF000 + code))
        if name is None and "/Encoding" in one.font:
            continue
        if name is None or name == ".notdef" or (lacking.numberOfContours and read["glyf"][name] == lacking):
            yield code


def blanks(one: UsedFont, read: TTFont, meanings: dict[int, str]) -> Iterator[int]:
    """Yields the codes of symbols without an outline. LibreOffice embeds coloured emoji without their colours."""
    names = glyph_names(read)
    for code in meanings.keys() & one.used:
        name = names.get(code, names.get(0xF000 + code))
        is_symbol = unicodedata.category(meanings[code][:1] or " ") == "So" and meanings[code] != BRAILLE_BLANK
        if is_symbol and name is not None and read["glyf"][name].numberOfContours == 0:
            yield code


def of_truetype(one: UsedFont, meanings: dict[int, str], search: Search) -> list[int]:
    """Returns the results of a search in an embedded one-byte TrueType font."""
    program = one.font.get("/FontDescriptor", {}).get("/FontFile2")
    if one.is_composite or program is None or not meanings:
        return []
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        with TTFont(BytesIO(program.read_bytes()), lazy=True) as read:
            return list(search(one, read, meanings)) if "glyf" in read else []
    except (TTLibError, KeyError, AssertionError, IndexError, ValueError):
        # A viewer may still be able to read a damaged font.
        return []


def lost_codes(one: UsedFont, meanings: dict[int, str]) -> list[int]:
    """Returns the codes that are drawn as empty boxes."""
    if one.is_composite:
        is_plain = str(one.font.get("/Encoding", "")) in ("/Identity-H", "/Identity-V")
        glyphs = one.inner.get("/CIDToGIDMap", "/Identity")
        # Glyph 0 is drawn for missing characters.
        if not is_plain:
            return []
        if not isinstance(glyphs, pikepdf.Stream):
            return [code for code in one.used if code == 0]
        table = glyphs.read_bytes()
        return [code for code in one.used if table[2 * code : 2 * code + 2] in (b"\0\0", b"")]
    return of_truetype(one, meanings, simple_boxes)


def meanings_of(one: UsedFont) -> dict[int, str]:
    """Returns the characters of a font's codes, if the font contains a map."""
    return unicode_map(one.font["/ToUnicode"].read_bytes()) if "/ToUnicode" in one.font else {}


def blank_characters(one: UsedFont) -> list[str]:
    """Returns the symbols that are not drawn at all, with their numbers."""
    meanings = meanings_of(one)
    found = {meanings[code] for code in of_truetype(one, meanings, blanks)}
    return [f"U+{ord(text[0]):04X} {text}" for text in sorted(found)]


def lost_characters(one: UsedFont) -> list[str]:
    """Returns the characters that are drawn as empty boxes, with their numbers, and a note if some are unknown."""
    meanings = meanings_of(one)
    lost = [meanings.get(code, "") for code in lost_codes(one, meanings)]
    # Characters without a glyph, such as line breaks and joiners, are not missing.
    signs = {text for text in lost if text and not all(unicodedata.category(one)[0] in "CZ" for one in text)}
    shown = [f"U+{ord(text[0]):04X} {text}" for text in sorted(signs)]
    return shown + (["unknown characters"] if "" in lost else [])
