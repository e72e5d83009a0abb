/** Syntax highlighting with the tokens of Prism, without its HTML. This module is loaded on demand. */

import "./prism_manual.js";
import Prism from "prismjs/components/prism-core.js";
import "prismjs/components/prism-clike.js";
import "prismjs/components/prism-javascript.js";
import "prismjs/components/prism-typescript.js";
import "prismjs/components/prism-json.js";
import "prismjs/components/prism-bash.js";
import "prismjs/components/prism-python.js";
import "prismjs/components/prism-yaml.js";
import "prismjs/components/prism-sql.js";
import "prismjs/components/prism-css.js";
import "prismjs/components/prism-markup.js";
import { type ComponentChildren, h } from "preact";

/** The colour of each token type. */
const COLOURS: Record<string, string> = {
  comment: "comment",
  prolog: "comment",
  string: "string",
  "template-string": "string",
  "attr-value": "string",
  regex: "string",
  number: "number",
  boolean: "number",
  constant: "number",
  null: "number",
  keyword: "keyword",
  builtin: "keyword",
  tag: "keyword",
  atrule: "keyword",
  shebang: "comment",
  function: "name",
  "class-name": "name",
  property: "name",
  key: "name",
  "attr-name": "name",
  variable: "name",
  selector: "name",
  environment: "name",
};

/** Returns highlighted elements, or the plain text if the language is unknown. */
export function highlight(text: string, language: string): ComponentChildren {
  const grammar = Prism.languages[language];
  return grammar ? nodes(Prism.tokenize(text, grammar)) : text;
}

function nodes(stream: Prism.TokenStream): ComponentChildren {
  if (typeof stream === "string") return stream;
  if (Array.isArray(stream)) return stream.map(nodes);
  const colour = COLOURS[stream.type];
  const children = nodes(stream.content);
  return colour ? h("span", { class: `code-${colour}` }, children) : children;
}
