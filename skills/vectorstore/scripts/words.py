"""Words, their stems and n-grams, and English words with a similar meaning (WordNet, if it is installed)."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import BinaryIO

WORDNET = Path("/usr/share/wordnet")
KINDS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
STOP = frozenset(
    "a an the and or of to in on at for by with from is are was were be been do does did i you he she it we "
    "they my your his her its our their this that these those what which who whom where when why how not no if "
    "then than as so can may must will would shall should have has had there here into up out over about after "
    "before any some all each me us them der die das den dem des ein eine einer eines einem einen und oder von "
    "zu im in am an auf für mit bei aus ist sind war wird werden ich du er sie es wir ihr nicht kein keine wie "
    "was wer wo wann warum als auch nach vor über".split()
)
# Words with little meaning in a question, which are related to nearly all other words.
GENERAL = frozenset(
    "get got go goes happen happens thing things way make made makes take taken takes give given use used want "
    "need done become come put let keep many much too ever whole someone somebody nobody anyone longer able "
    "also always never cannot quickly long because".split()
)
ENDINGS = (
    ("ational", "ate"), ("ations", ""), ("ation", ""), ("ings", ""), ("ing", ""), ("ments", ""), ("ment", ""),
    ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("edly", ""), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""), ("e", ""),
)  # fmt: skip
INFLECTIONS = {
    "n": (("s", ""), ("ses", "s"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}


def words(text: str) -> list[str]:
    """Returns lower-case words without accents. Codes such as A-12 are included both whole and in parts."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(one))
    codes = [one for one in re.findall(r"\w+(?:[-./]\w+)+", plain) if any(letter.isdigit() for letter in one)]
    return re.findall(r"[^\W_]+", plain) + codes


def content(text: str) -> list[str]:
    """Returns the meaningful words of a question, each once."""
    found = list(dict.fromkeys(words(text)))
    kept = [one for one in found if one not in STOP]
    return [one for one in kept if one not in GENERAL] or kept or found


def stem(word: str) -> str:
    """Removes the ending of a word. The rules are for English, but apply to question and text alike."""
    for ending, instead in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            word = word[: -len(ending)] + instead
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word


def grams(word: str) -> list[str]:
    """Returns n-grams of three to five letters, including the edges of the word."""
    edged = f" {word} "
    return [edged[at : at + n] for n in (3, 4, 5) for at in range(len(edged) - n + 1)]


class WordNet:
    """The database of English words, whose entries are read on demand."""

    def __init__(self, folder: Path) -> None:
        self.senses: dict[str, dict[str, list[str]]] = {}
        self.irregular: dict[str, dict[str, str]] = {}
        self.data: dict[str, BinaryIO] = {}
        for kind, name in KINDS.items():
            self.data[kind] = (folder / f"data.{name}").open("rb")
            index = [one.split() for one in (folder / f"index.{name}").open(encoding="utf-8") if one[0] != " "]
            self.senses[kind] = {one[0]: one[-int(one[2]) :] for one in index}
            lines = (folder / f"{name}.exc").read_text(encoding="utf-8").splitlines()
            self.irregular[kind] = {one.split()[0]: one.split()[1] for one in lines}

    def bases(self, word: str, kind: str) -> list[str]:
        """Returns the entries that an inflected word can belong to."""
        known = self.senses[kind]
        found = [self.irregular[kind].get(word, ""), word]
        for ending, instead in INFLECTIONS[kind]:
            if word.endswith(ending):
                base = word[: -len(ending)]
                found += [base + instead, base[:-1]] if base[-1:] == base[-2:-1] else [base + instead]
        return list(dict.fromkeys(one for one in found if one in known))[:2]

    def entry(self, kind: str, offset: str) -> tuple[list[str], list[tuple[str, str]], str]:
        """Returns the words of a sense, its pointers as kind and sense, and its definition."""
        self.data[kind].seek(int(offset))
        fields, _, gloss = self.data[kind].readline().decode(errors="replace").partition(" | ")
        found = fields.split()
        count = int(found[3], 16)
        at = 5 + 2 * count
        pointers = [
            (found[n], found[n + 2].replace("s", "a") + found[n + 1]) for n in range(at, at + 4 * int(found[at - 1]), 4)
        ]
        return [one.lower() for one in found[4 : 4 + 2 * count : 2]], pointers, gloss.split('; "')[0]

    def features(self, word: str) -> tuple[dict[str, float], int]:
        """Returns the features that relate a word to others (senses, broader senses, words), and its sense count."""
        found = {f"={stem(word)}": 1.0}
        count = 0

        def put(name: str, weight: float) -> None:
            found[name] = max(found.get(name, 0.0), weight)

        for kind in KINDS:
            for base in self.bases(word, kind):
                offsets = self.senses[kind][base]
                count += len(offsets)
                put(f"={stem(base)}", 1.0)
                for rank, offset in enumerate(offsets[:5]):
                    self._sense(kind, offset, 1 / (1 + 0.5 * rank), put)
        return found, max(1, count)

    def _sense(self, kind: str, offset: str, weight: float, put: Callable[[str, float], None]) -> None:
        names, pointers, gloss = self.entry(kind, offset)
        put(kind + offset, weight)
        for name in names:
            for part in name.split("_"):
                if part not in STOP:
                    put(f"={stem(part)}", weight * 0.5 / (1 + name.count("_")))
        for one in words(gloss):
            if one not in STOP:
                put(f"={stem(one)}", weight * 0.15)
        for pointer, sense in pointers:
            if pointer in ("@", "@i"):
                put(sense, weight * 0.5)
                for above, other in self.entry(sense[0], sense[1:])[1]:
                    if above == "@":
                        put(other, weight * 0.25)
            elif pointer in ("+", "\\"):
                put(sense, weight * 0.8)
            elif pointer in ("&", "^", "*", "$", ">"):
                put(sense, weight * 0.6)


@cache
def wordnet() -> WordNet | None:
    """Returns WordNet, if it is installed."""
    return WordNet(WORDNET) if (WORDNET / "data.noun").is_file() else None
