/** Tests of text diffs. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines } from "../src/ui/diff.js";

const MARKS = { same: " ", removed: "-", added: "+" };
const shown = (before: string, after: string) =>
  diffLines([...before], [...after])
    .map(({ kind, text }) => MARKS[kind] + text)
    .join("");

test("lines that both texts have are kept", () => {
  assert.equal(shown("abc", "abc"), " a b c");
  assert.equal(shown("abcd", "axcd"), " a-b+x c d");
  assert.equal(shown("", "ab"), "+a+b");
  assert.equal(shown("ab", ""), "-a-b");
  assert.equal(shown("abc", "cab"), "+c a b-c");
});

test("both texts can be reconstructed from the diff", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 16807) % 2147483647) % below;
  for (let round = 0; round < 200; round++) {
    const [before, after] = [0, 1].map(() => Array.from({ length: random(12) }, () => "abc"[random(3)] ?? ""));
    const lines = diffLines(before ?? [], after ?? []);
    const without = (kind: string) => lines.filter((line) => line.kind !== kind).map(({ text }) => text);
    assert.deepEqual([without("added"), without("removed")], [before, after]);
  }
});
