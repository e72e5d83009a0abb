"""A searchable collection of passages: its storage, and its comparison with a question."""

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from passages import Passage, Problem
from scipy import sparse
from words import content, grams, stem, wordnet, words

Array = NDArray[Any]
FORMAT = 1
# A related word scores the cosine of its features, times SCALE, and always less than the word itself.
FLOOR, SCALE, CEILING = 0.05, 3.0, 0.8
# BM25: the influence of the length of a passage.
LENGTH = 0.25
# Reciprocal rank fusion: the constant that is added to a rank, and the weight of each list.
RANK = 5.0
WEIGHTS = {"words": 2.0, "letters": 1.0, "vectors": 3.0}


@dataclass
class Hit:
    """A matching passage, with its rank in each list."""

    passage: Passage
    score: float
    ranks: dict[str, int]


@dataclass
class Collection:
    """Passages, the number of each word in each passage, and the features of the words."""

    passages: list[Passage]
    vocabulary: list[str]
    counts: sparse.csr_matrix
    features: list[str]
    meaning: sparse.csr_matrix
    vectors: Array | None = None
    model: str = ""

    @classmethod
    def of(cls, passages: list[Passage]) -> "Collection":
        """Creates a collection from passages, by counting their words."""
        places: dict[str, int] = {}
        rows, columns, values = [], [], []
        for row, passage in enumerate(passages):
            for word, count in Counter(words(passage.text)).items():
                rows.append(row)
                columns.append(places.setdefault(word, len(places)))
                values.append(count)
        shape = (len(passages), len(places))
        counts = sparse.csr_matrix((values, (rows, columns)), shape=shape, dtype="float32")
        features, meaning = cls._meaning(list(places))
        return cls(passages, list(places), counts, features, meaning)

    @staticmethod
    def _meaning(vocabulary: list[str]) -> tuple[list[str], sparse.csr_matrix]:
        """Returns the features of each word, weighted by their rarity. Without WordNet there are none."""
        net = wordnet()
        found = [net.features(word)[0] if net else {} for word in vocabulary]
        common = Counter(name for one in found for name in one)
        # A feature of only one word is kept, because a word of a question may have it as well.
        places = {name: place for place, name in enumerate(common)}
        size = len(vocabulary)
        rows = [row for row, one in enumerate(found) for _ in one]
        columns = [places[name] for one in found for name in one]
        values = [x * math.log(1 + size / (1 + common[name])) for one in found for name, x in one.items()]
        matrix = sparse.csr_matrix((values, (rows, columns)), shape=(size, len(places)), dtype="float32")
        return list(places), _normal(matrix)

    def save(self, folder: Path) -> None:
        """Writes plain JSON and NumPy files, which do not run code when they are opened."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "passages.jsonl").open("w", encoding="utf-8") as lines:
            for one in self.passages:
                lines.write(json.dumps(asdict(one), ensure_ascii=False) + "\n")
        about = {"format": FORMAT, "model": self.model, "vocabulary": self.vocabulary, "features": self.features}
        (folder / "index.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        sparse.save_npz(folder / "counts.npz", self.counts)
        sparse.save_npz(folder / "meaning.npz", self.meaning)
        if self.vectors is not None:
            numpy.save(folder / "vectors.npy", self.vectors, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> "Collection":
        try:
            lines = (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()
            about = json.loads((folder / "index.json").read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise Problem(f"{folder}: it was created by another version; create it again with index.py")
            passages = [Passage(**json.loads(line)) for line in lines]
            counts, meaning = (sparse.load_npz(folder / name) for name in ("counts.npz", "meaning.npz"))
            vectors = folder / "vectors.npy"
            found = numpy.load(vectors, allow_pickle=False) if vectors.exists() else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Problem(f"{folder}: it is not an index of index.py ({error})") from None
        return cls(passages, about["vocabulary"], counts, about["features"], meaning, found, about["model"])

    @cached_property
    def stems(self) -> list[str]:
        return [stem(one) for one in self.vocabulary]

    @cached_property
    def letters(self) -> tuple[dict[str, int], Array, sparse.csr_matrix]:
        """The n-grams, their rarity, and the TF-IDF of the passages."""
        places: dict[str, int] = {}
        rows, columns = [], []
        for row, word in enumerate(self.vocabulary):
            for one in grams(word):
                rows.append(row)
                columns.append(places.setdefault(one, len(places)))
        shape = (len(self.vocabulary), len(places))
        of_words = sparse.csr_matrix((numpy.ones(len(rows)), (rows, columns)), shape=shape)
        found = (self.counts @ of_words).tocsr()
        rarity = numpy.log(1 + len(self.passages) / (1 + numpy.asarray((found > 0).sum(axis=0)).ravel()))
        found.data = 1 + numpy.log(found.data)
        return places, rarity, _normal(found.multiply(rarity).tocsr())

    def related(self, word: str) -> tuple[Array, int]:
        """Returns how similar each word of the vocabulary is to a word, from 0 to 1, and its number of senses."""
        own = stem(word)
        exact = numpy.array([one == own for one in self.stems], dtype="float32")
        net = wordnet()
        if net is None or not self.features:
            return exact, 1
        features, senses = net.features(word)
        places = self.feature_places
        vector = numpy.zeros(len(self.features), dtype="float32")
        for name, weight in features.items():
            if name in places:
                vector[places[name]] = weight * self.feature_rarity[places[name]]
        unseen = sum(weight * weight for name, weight in features.items() if name not in places)
        length = math.sqrt(float(vector @ vector) + unseen * math.log(1 + len(self.vocabulary)) ** 2) or 1.0
        near = numpy.asarray(self.meaning @ vector).ravel() / length
        return numpy.maximum(exact, numpy.where(near > FLOOR, numpy.minimum(CEILING, near * SCALE), 0)), senses

    @cached_property
    def feature_places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.features)}

    @cached_property
    def feature_rarity(self) -> Array:
        common = numpy.asarray((self.meaning > 0).sum(axis=0)).ravel()
        return numpy.log(1 + len(self.vocabulary) / (1 + common))

    def by_words(self, question: str) -> Array:
        """Returns BM25 scores. A related word counts as a fraction of the requested word."""
        size = len(self.passages)
        scores = numpy.zeros(size)
        lengths = numpy.asarray(self.counts.sum(axis=1)).ravel()
        longer = 1 - LENGTH + LENGTH * lengths / max(1.0, float(lengths.mean()))
        for word in content(question):
            near, senses = self.related(word)
            best = numpy.asarray((self.counts > 0).multiply(near).tocsr().max(axis=1).todense()).ravel()
            found = float(best.sum())
            if found:
                rarity = math.log(1 + size / (found + 0.5)) / (1 + 0.3 * math.log(senses))
                scores += rarity * best / (0.2 + longer)
        return scores

    def by_letters(self, question: str) -> Array:
        """Returns the cosine of TF-IDF over n-grams, which finds endings, compounds and misspellings."""
        places, rarity, matrix = self.letters
        counts = Counter(one for word in content(question) for one in grams(word) if one in places)
        vector = numpy.zeros(len(places))
        for one, count in counts.items():
            vector[places[one]] = (1 + math.log(count)) * rarity[places[one]]
        return numpy.asarray(matrix @ (vector / (numpy.linalg.norm(vector) or 1.0))).ravel()

    def search(self, questions: list[str], vectors: list[Array], limit: int) -> list[Hit]:
        """Returns the best passages for all wordings of a question, by reciprocal rank fusion."""
        lists = [("words", self.by_words(one)) for one in questions]
        lists += [("letters", self.by_letters(one)) for one in questions]
        lists += [("vectors", self.vectors @ one) for one in vectors if self.vectors is not None]
        fused = numpy.zeros(len(self.passages))
        ranks: dict[str, Array] = {}
        for name, scores in lists:
            order = numpy.argsort(-scores, kind="stable")
            rank = numpy.empty(len(order))
            rank[order] = numpy.arange(1, len(order) + 1)
            rank[scores <= 0] = numpy.inf
            fused += WEIGHTS[name] / (RANK + rank)
            ranks[name] = numpy.minimum(ranks.get(name, numpy.inf), rank)
        best = [int(one) for one in numpy.argsort(-fused, kind="stable")[:limit] if fused[one] > 0]
        top = sum(WEIGHTS[name] / (RANK + 1) for name, _ in lists)
        return [
            Hit(
                self.passages[one],
                float(fused[one]) / top,
                {name: int(rank[one]) for name, rank in ranks.items() if math.isfinite(rank[one])},
            )
            for one in best
        ]


def _normal(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Scales rows to length 1."""
    lengths = numpy.sqrt(numpy.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return (sparse.diags(1 / numpy.where(lengths == 0, 1, lengths)) @ matrix).tocsr()
