"""Characters that no installed font can draw. Readers would see empty boxes instead."""

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable
from functools import cache

# Control characters, format characters and spaces have no glyph, and combining marks are drawn on letters.
WITHOUT_SIGN = {"Cc", "Cf", "Zs", "Zl", "Zp", "Mn"}


@cache
def installed(pattern: str = ":") -> frozenset[int] | None:
    """Returns the characters of the fonts that match a fontconfig pattern, or `None` if they cannot be listed."""
    if shutil.which("fc-list") is None:
        return None
    listed = subprocess.run(["fc-list", pattern, "charset"], capture_output=True, text=True, check=True).stdout
    found: set[int] = set()
    for one in re.findall(r"\b[0-9a-f]+(?:-[0-9a-f]+)?\b", listed):
        first, _, last = one.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(found)


def named(letter: str) -> str:
    """Returns the number, the character and its name, such as `U+65E5 日 CJK UNIFIED IDEOGRAPH-65E5`."""
    return f"U+{ord(letter):04X} {letter} {unicodedata.name(letter, '(unnamed)')}"


def missing_glyphs(texts: Iterable[str], pattern: str = ":") -> list[str]:
    """Returns the characters that no font of the pattern can draw, with their numbers and names."""
    has = installed(pattern)
    letters = {letter for text in texts for letter in text if unicodedata.category(letter) not in WITHOUT_SIGN}
    return [named(one) for one in sorted(letters) if one == "\ufffd" or (has is not None and ord(one) not in has)]
