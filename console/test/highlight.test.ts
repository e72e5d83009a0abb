/** Tests of syntax highlighting. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComponentChildren } from "preact";
import { highlight } from "../src/ui/highlight.js";

/** Returns the text of elements, and appends their classes to `classes`. */
function flatten(node: ComponentChildren, classes: string[] = []): string {
  if (Array.isArray(node)) return node.map((child) => flatten(child, classes)).join("");
  if (typeof node !== "object" || node === null || !("props" in node)) return String(node);
  const props = node.props as { class: string; children: ComponentChildren };
  assert.equal(node.type, "span");
  assert.deepEqual(Object.keys(props).sort(), ["children", "class"]);
  classes.push(props.class);
  return flatten(props.children, classes);
}

test("highlighting does not change the text", () => {
  const hostile = `<img src=x onerror="alert(1)"> </span><script>alert(1)</script> "\${a}" # b`;
  for (const language of [
    "bash",
    "json",
    "python",
    "javascript",
    "typescript",
    "yaml",
    "sql",
    "css",
    "markup",
    "none",
  ]) {
    assert.equal(flatten(highlight(hostile, language)), hostile, language);
  }
});

test("token types have colours", () => {
  const cases: [string, string, string[]][] = [
    ["bash", "# say\necho 'hello' 1", ["code-comment", "code-string"]],
    ["json", '{"a": 1, "b": "c"}', ["code-name", "code-number", "code-string"]],
    ["python", "def f(): return 1", ["code-keyword", "code-name", "code-number"]],
  ];
  for (const [language, text, expected] of cases) {
    const classes: string[] = [];
    flatten(highlight(text, language), classes);
    for (const name of expected) assert.ok(classes.includes(name), `${language}: ${name} of ${classes.join(" ")}`);
  }
});
