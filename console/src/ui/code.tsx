/** Code with syntax highlighting. */

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { CopyButton } from "./copy.js";

/** The maximum length of a text to highlight. */
const MAX_COLOURED = 100_000;
const LANGUAGES: Record<string, string> = {
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  console: "bash",
  py: "python",
  js: "javascript",
  mjs: "javascript",
  jsx: "javascript",
  ts: "typescript",
  tsx: "typescript",
  yml: "yaml",
  html: "markup",
  xml: "markup",
  svg: "markup",
};

/** The highlighter, once it is loaded. */
const loaded = signal<typeof import("./highlight.js")>();
let isLoading = false;

/** Returns the extension of a file name, which serves as its language. */
export function languageOf(name: string): string {
  return (name.includes(".") && name.split(".").at(-1)?.toLowerCase()) || "";
}

/** Text highlighted for a language name or file extension. It is plain until the highlighter is loaded. */
export function Highlighted({ text, language }: { text: string; language: string }) {
  const isColoured = language !== "" && text.length <= MAX_COLOURED;
  if (isColoured && !isLoading) {
    isLoading = true;
    // If the highlighter cannot be loaded, the text stays plain.
    void import("./highlight.js").then((it) => (loaded.value = it)).catch(() => {});
  }
  const highlight = loaded.value?.highlight;
  const name = LANGUAGES[language] ?? language;
  const nodes = useMemo(() => (isColoured && highlight ? highlight(text, name) : text), [text, name, highlight]);
  return <>{nodes}</>;
}

export function CodeBlock({ text, language = "" }: { text: string; language?: string }) {
  return (
    <div class="code">
      <pre tabIndex={0}>
        <Highlighted text={text} language={language} />
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
