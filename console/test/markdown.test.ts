/** Tests of Markdown that grows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { lexAgain } from "../src/ui/markdown.js";

const EMPTY = { text: "", tokens: [] };

test("when a text grows, only its last block is lexed again", () => {
  const paragraphs = Array.from({ length: 50 }, (_, index) => `Paragraph *${index}*.`).join("\n\n");
  const before = lexAgain(EMPTY, paragraphs);
  const after = lexAgain(before, `${paragraphs} More.\n\nAnd another.`);
  const kept = before.tokens.slice(0, -1);
  assert.ok(kept.length > 50);
  kept.forEach((token, index) => assert.equal(after.tokens[index], token));
});

test("a text that grows by single characters has the same tokens in the end", () => {
  const text = "# Title\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\ncode\n```\n\nEnd **bold**.";
  let state = EMPTY as ReturnType<typeof lexAgain>;
  for (let length = 1; length <= text.length; length++) state = lexAgain(state, text.slice(0, length));
  const types = (tokens: { type: string }[]) => tokens.filter(({ type }) => type !== "space").map(({ type }) => type);
  assert.deepEqual(types(state.tokens), types(lexAgain(EMPTY, text).tokens));
  assert.equal(state.tokens.map(({ raw }) => raw).join(""), text);
});
