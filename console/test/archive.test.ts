/** Tests of archive listings: ZIP from its directory, TAR from its headers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { listTar, listZip } from "../src/ui/archive.js";

/** Returns a ZIP archive without file contents: a directory and its end record. */
function zip(names: string[], comment = ""): Uint8Array {
  const entries = names.map((name) => {
    const bytes = Buffer.from(name);
    const entry = Buffer.alloc(46 + bytes.length);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt32LE(7, 24);
    entry.writeUInt16LE(bytes.length, 28);
    bytes.copy(entry, 46);
    return entry;
  });
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(names.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(4, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([Buffer.from("PK\x03\x04"), directory, end, Buffer.from(comment)]);
}

const ranges = (bytes: Uint8Array) => async (from: number, to: number) => bytes.subarray(from, to);
const listOf = (bytes: Uint8Array) => listZip(bytes.length, ranges(bytes));

function header(name: string, size: number, kind = "0"): Uint8Array {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  block.write(kind, 156);
  block.write("ustar\x0000", 257);
  return block;
}

/** Returns a stream of a TAR archive in pieces of this length. */
function stream(blocks: Uint8Array[], piece: number): ReadableStream<Uint8Array> {
  const bytes = Buffer.concat(blocks);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + piece)));
      at += piece;
    },
  });
}

test("a ZIP archive is listed from its directory, with and without a comment", async () => {
  const expected = [
    { name: "a.txt", size: 7 },
    { name: "döcs/b.txt", size: 7 },
  ];
  for (const comment of ["", "made by hand"]) {
    const listing = await listOf(zip(["a.txt", "döcs/b.txt"], comment));
    assert.deepEqual(listing, { entries: expected, isWhole: true });
  }
});

test("control characters in names are replaced, and long lists are truncated", async () => {
  const [hostile] = (await listOf(zip(["a\u202Egpj.exe\u0007"]))).entries;
  assert.equal(hostile?.name, "a\ufffdgpj.exe\ufffd");
  const many = await listOf(zip(Array.from({ length: 1500 }, (_, index) => `${index}`)));
  assert.deepEqual([many.entries.length, many.isWhole], [1000, false]);
});

test("a file that is not an archive is rejected, and a broken archive has no entries", async () => {
  await assert.rejects(listOf(Buffer.from("PK\x03\x04 and nothing more of it")), /not a ZIP/);
  await assert.rejects(listTar(stream([Buffer.alloc(1024, "x")], 100)), /not a TAR/);
  const broken = zip(["a.txt", "b.txt"]);
  // The offset of the directory is outside of the file.
  new DataView(broken.buffer, broken.byteOffset).setUint32(broken.length - 6, 1_000_000, true);
  assert.deepEqual((await listOf(broken)).entries, []);
});

test("a TAR archive is listed without its content, from chunks of any size", async () => {
  const long = `${"deep/".repeat(40)}file.txt`;
  const record = Buffer.alloc(512);
  record.write(`${long.length + 10} path=${long}\n`);
  const blocks = [
    header("a.txt", 700),
    Buffer.alloc(1024, "content"),
    header("ignored", 512, "x"),
    record,
    header("short", 0),
    header("folder/", 0, "5"),
    Buffer.alloc(1024),
  ];
  const entries = [
    { name: "a.txt", size: 700 },
    { name: long, size: 0 },
    { name: "folder/", size: 0 },
  ];
  for (const piece of [1, 511, 512, 100_000]) {
    assert.deepEqual(await listTar(stream(blocks, piece)), { entries, isWhole: true });
  }
  // This archive ends in the middle of a file.
  const cut = await listTar(stream(blocks.slice(0, 1), 512));
  assert.deepEqual(cut, { entries: entries.slice(0, 1), isWhole: false });
});
