#!/usr/bin/env python3
"""Searches an index of index.py. Each argument is a question. `--also` adds another wording of the question before it.

Prints the best passages for each question with score, file and place. Scores are comparable only within one question.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import minilm
import numpy
from collection import Array, Collection
from passages import Problem, run
from words import content, wordnet


def vectors(found: Collection, questions: list[str]) -> list[Array]:
    """Returns the vectors of a question's wordings, if the index has vectors and their model is available."""
    if found.model == minilm.NAME:
        files = minilm.folder()
        if files is not None:
            return list(minilm.MiniLM(files).vectors(questions))
        print(f"search: without vectors: the Python package {minilm.PACKAGE} is not installed here", file=sys.stderr)
        return []
    program = Path(__file__).resolve().parents[1] / "bin/embed"
    if found.vectors is None or "EMBEDDINGS_URL" not in os.environ or not program.is_file():
        return []
    with tempfile.TemporaryDirectory() as folder:
        texts, out = Path(folder) / "q.jsonl", Path(folder) / "q.npy"
        texts.write_text("".join(json.dumps(one) + "\n" for one in questions), encoding="utf-8")
        done = subprocess.run([program, texts, out], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"search: without vectors: {done.stderr.strip()[:300]}", file=sys.stderr)
            return []
        return list(numpy.load(out, allow_pickle=False))


def groups(arguments: list[str]) -> list[list[str]]:
    """Returns each question with its additional wordings."""
    found: list[list[str]] = []
    is_also = False
    for one in arguments:
        if one == "--also":
            if not found:
                raise Problem("--also needs a question before it")
            is_also = True
        elif is_also:
            found[-1].append(one)
            is_also = False
        elif one != "--":
            found.append([one])
    if is_also:
        raise Problem("--also needs a wording after it")
    return found


def main() -> int:
    home = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, default=home if (home / "index.json").exists() else Path("index"))
    parser.add_argument("--limit", type=int, default=5, help="hits for each question (5)")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each question")
    parser.add_argument("questions", nargs=argparse.REMAINDER, metavar="QUESTION [--also WORDING ...]")
    given = parser.parse_args()
    asked = groups(given.questions)
    if not asked or any(not content(one) for group in asked for one in group):
        raise Problem("a question must contain a word")
    found = Collection.load(given.index)
    if found.features and wordnet() is None:
        print("search: WordNet is not installed here: related words are not found", file=sys.stderr)
    for group in asked:
        hits = found.search(group, vectors(found, group), given.limit)
        if given.json:
            shown = [
                {"score": round(one.score, 3), "file": one.passage.file, "place": one.passage.place,
                 "text": one.passage.text, "ranks": one.ranks}
                for one in hits
            ]  # fmt: skip
            print(json.dumps({"question": group[0], "hits": shown}, ensure_ascii=False))
            continue
        print(f"? {' | '.join(group)}")
        for one in hits:
            print(f"{one.score:.2f}  {one.passage.file} {one.passage.place}: {one.passage.text}")
        if not hits:
            print("no hits")
    return 0


if __name__ == "__main__":
    run(main)
