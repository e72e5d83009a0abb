"""Tests of a collection of passages: the files that it reads, and questions in other words than the passages."""

import json
import subprocess
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

from support import ENVIRONMENT, SKILLS, ScriptTest, need

FIXTURES = Path(__file__).parent / "fixtures"


class Vehicles(BaseHTTPRequestHandler):
    """An embedding model that recognizes vehicles."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        self.asked.extend(texts)
        known = [[2.0, 0.0] if "automobile" in one or "conveyance" in one else [0.0, 3.0] for one in texts]
        body = json.dumps({"data": [{"index": n, "embedding": one} for n, one in enumerate(known)]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class VectorstoreTest(ScriptTest):
    skill = "vectorstore"

    def hits(self, *arguments: str) -> list[list[dict[str, Any]]]:
        return [json.loads(line)["hits"] for line in self.ok("search.py", "--json", *arguments).splitlines()]

    def test_questions_worded_otherwise_find_their_passages_without_a_service(self) -> None:
        self.assertTrue(Path("/usr/share/wordnet/data.noun").is_file(), "WordNet is missing: scripts/install-programs")
        self.assertIn("88 passages from 1 files", self.ok("index.py", FIXTURES / "handbook.md"))
        questions = json.loads((FIXTURES / "questions.json").read_text())
        found = self.hits("--limit", "3", *[one["ask"] for one in questions])
        is_found = [
            any(one["answer"] in hit["text"] for hit in hits) for one, hits in zip(questions, found, strict=True)
        ]
        self.assertGreaterEqual(sum(is_found), 7, is_found)
        # With the additional wordings of a model, all questions find their passages.
        for one in questions:
            also = [part for wording in one.get("also", []) for part in ("--also", wording)]
            [hits] = self.hits("--limit", "3", one["ask"], *also)
            self.assertTrue(any(one["answer"] in hit["text"] for hit in hits), one["ask"])

    def test_each_passage_finds_itself_and_codes_are_found(self) -> None:
        (self.folder / "parts.csv").write_text(
            "number;name\nA-12;valve\nA-13;valve\nB-12/7;Größenänderung\n", encoding="utf-8"
        )
        self.ok("index.py", FIXTURES / "handbook.md", "parts.csv")
        texts = [json.loads(line)["text"] for line in (self.folder / "index/passages.jsonl").read_text().splitlines()]
        for text, hits in zip(texts[::7], self.hits("--limit", "1", *texts[::7]), strict=True):
            self.assertEqual(hits[0]["text"], text)
        for question, place in (("A-13", "line 3"), ("b-12/7", "line 4"), ("Grössenänderungen", "line 4")):
            [hits] = self.hits("--limit", "1", question)
            self.assertEqual((hits[0]["file"], hits[0]["place"]), ("parts.csv", place))

    def test_files_of_many_kinds_are_read_and_others_are_named(self) -> None:
        need("pdftotext", "pandoc")
        folder = self.folder / "in"
        folder.mkdir()
        (folder / "notes.txt").write_text("first note\nsecond note\nfirst note\n")
        (folder / "latin.txt").write_bytes("Grüße aus Köln".encode("cp1252"))
        (folder / "page.html").write_text("<style>p{}</style><h1>Prices</h1><p>Bread &amp; milk</p><script>x</script>")
        (folder / "list.json").write_text('[{"name": "Ann", "age": 3}, "plain"]')
        (folder / "picture.bin").write_bytes(b"\x89PNG\0\0\0")
        (folder / "broken.pdf").write_text("no PDF")
        with zipfile.ZipFile(folder / "more.zip", "w") as package:
            package.writestr(
                "sub/inner.md",
                "# Title\n\nInner words\n\n" + " ".join(f"Sentence number {n} has six words." for n in range(60)),
            )
        self.python(
            "from reportlab.pdfgen.canvas import Canvas\n"
            "c = Canvas('in/two.pdf'); c.drawString(60, 700, 'page one'); c.showPage(); c.drawString(60, 700, 'page two'); c.save()\n"
            "import docx; d = docx.Document(); d.add_heading('Report'); d.add_paragraph('Word text'); d.save('in/report.docx')\n"
            "import openpyxl; b = openpyxl.Workbook(); b.active.append(['n', 'what']); b.active.append([1, 'cell']); b.save('in/book.xlsx')\n"
        )
        archive = folder / "more.zip"
        archive.rename(self.folder / "more.zip")
        shown = self.ok("index.py", "in", "more.zip", "--zip", "index.zip")
        self.assertIn("1 duplicates left out, 2 files not read", shown)
        self.assertIn("warning: not read: in/picture.bin: in/picture.bin: it is not a text", shown)
        self.assertIn("warning: not read: in/broken.pdf", shown)
        passages = [json.loads(line) for line in (self.folder / "index/passages.jsonl").read_text().splitlines()]
        places = {(one["file"], one["place"]): one["text"] for one in passages}
        for key, text in (
            (("in/notes.txt", "line 2"), "second note"),
            (("in/latin.txt", "line 1"), "Grüße aus Köln"),
            (("in/page.html", "text"), "Prices: Bread & milk"),
            (("in/list.json", "item 1"), "name: Ann; age: 3"),
            (("in/two.pdf", "page 2"), "page two"),
            (("in/book.xlsx", "Sheet row 2"), "n: 1; what: cell"),
            (("more.zip/sub/inner.md", "line 3"), "Title: Inner words"),
        ):
            self.assertEqual(places.get(key), text, places)
        self.assertIn("Report: Word text", places.values())
        self.assertEqual(sum("has six words" in one["text"] for one in passages), 3)
        # The extracted index works elsewhere, with its own copy of the search script.
        other = self.folder / "other"
        with zipfile.ZipFile(self.folder / "index.zip") as package:
            package.extractall(other)
        command = ["/usr/bin/python3", "search.py", "--limit", "1", "milk?"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=other, env=ENVIRONMENT)
        self.assertRegex(done.stdout, r"^\? milk\?\n\d\.\d\d  in/page.html text: Prices: Bread & milk\n$")

    def test_vectors_of_a_model_on_the_machine_do_not_depend_on_the_texts_beside(self) -> None:
        # Random weights, because the real ones have 90 MB.
        self.python(
            "import json, numpy\nfrom pathlib import Path\n"
            "random = numpy.random.default_rng(0)\nshapes = {}\n"
            "def put(name, *shape): shapes[name] = shape\n"
            "put('embeddings.word_embeddings.weight', 9, 384); put('embeddings.position_embeddings.weight', 256, 384)\n"
            "put('embeddings.token_type_embeddings.weight', 2, 384)\n"
            "put('embeddings.LayerNorm.weight', 384); put('embeddings.LayerNorm.bias', 384)\n"
            "wide = {'intermediate.dense': (1536, 384), 'output.dense': (384, 1536)}\n"
            "for n in range(6):\n"
            "    for part in ('attention.self.query', 'attention.self.key', 'attention.self.value',\n"
            "                 'attention.output.dense', *wide):\n"
            "        shape = wide.get(part, (384, 384))\n"
            "        put(f'encoder.layer.{n}.{part}.weight', *shape); put(f'encoder.layer.{n}.{part}.bias', shape[0])\n"
            "    for part in ('attention.output', 'output'):\n"
            "        put(f'encoder.layer.{n}.{part}.LayerNorm.weight', 384)\n"
            "        put(f'encoder.layer.{n}.{part}.LayerNorm.bias', 384)\n"
            "places, blobs, at = {}, [], 0\n"
            "for name, shape in shapes.items():\n"
            "    blob = (random.normal(0, 0.1, shape) + name.endswith('Norm.weight')).astype('<f4').tobytes()\n"
            "    places[name] = {'dtype': 'F32', 'shape': list(shape), 'data_offsets': [at, at + len(blob)]}\n"
            "    at += len(blob); blobs.append(blob)\n"
            "head = json.dumps(places).encode()\n"
            "Path('model').mkdir()\n"
            "Path('model/vocab.txt').write_text('[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\noven\\nre\\n##pair\\n##ed\\n,')\n"
            "Path('model/model.safetensors').write_bytes(len(head).to_bytes(8, 'little') + head + b''.join(blobs))\n"
        )
        shown = self.python(
            "import minilm, numpy\nfrom pathlib import Path\nmodel = minilm.MiniLM(Path('model'))\n"
            "print(model.encode('Repaired, OVÉN xyz'), len(model.encode('oven ' * 300)))\n"
            "texts = ['oven', 'repaired oven, ' * 20, 'oven repair']\ntogether = model.vectors(texts)\n"
            "alone = numpy.concatenate([model.vectors([one]) for one in texts])\n"
            "print(together.shape, numpy.allclose(together, alone, atol=1e-4), numpy.allclose((together ** 2).sum(1), 1))\n"
            "print(numpy.abs(together[0] - together[1]).max() > 0.001)\n"
        )
        self.assertEqual(shown, "[2, 5, 6, 7, 8, 4, 1, 3] 256\n(3, 384) True True\nTrue\n")

    def test_hostile_files_are_refused_in_one_line(self) -> None:
        with zipfile.ZipFile(self.folder / "out.zip", "w") as package:
            package.writestr("../../out.txt", "words")
        self.assertIn("outside of its folder", self.fails("index.py", "out.zip"))
        (self.folder / "empty.txt").write_text("\n\n")
        self.assertIn("there is no text", self.fails("index.py", "empty.txt"))
        self.assertIn("there is no such file", self.fails("index.py", "missing.txt"))
        self.assertIn("is not an index", self.fails("search.py", "words"))
        self.assertIn("must contain a word", self.fails("search.py", "?!"))
        self.assertIn("needs a question before it", self.fails("search.py", "--", "--also", "x"))

    def test_vectors_of_a_service_are_fused_with_words(self) -> None:
        server = HTTPServer(("127.0.0.1", 0), Vehicles)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        (self.folder / "notes.txt").write_text("bananas are yellow\nan automobile with four doors\nthe tax on wine\n")
        environment = ENVIRONMENT | {"EMBEDDINGS_URL": f"http://127.0.0.1:{server.server_port}/v1"}
        scripts = SKILLS / "vectorstore/scripts"

        def run(*command: object) -> str:
            line = ["/usr/bin/python3", *map(str, command)]
            return subprocess.run(
                line, capture_output=True, text=True, check=True, cwd=self.folder, env=environment
            ).stdout

        self.assertIn("vectors of text-embedding-3-small", run(scripts / "index.py", "notes.txt"))
        self.assertEqual(len(Vehicles.asked), 3)
        self.assertIn("line 2", run(scripts / "search.py", "--limit", "1", "conveyance"))
        # The word search finds this passage, although its vector does not match.
        self.assertIn("line 3", run(scripts / "search.py", "--limit", "1", "tax on wine"))
        self.assertFalse((self.folder / "index/texts.jsonl").exists())
