/** Code with colours. */

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { CopyButton } from "./copy.js";

/** Longer texts have no colours. */
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

/** The language of a file by its name. */
export function languageOf(name: string): string {
  return (name.includes(".") && name.split(".").at(-1)?.toLowerCase()) || "";
}

/** Text in the colours of a language, by its name or extension. Until the highlighter is there, it has none. */
export function Highlighted({ text, language }: { text: string; language: string }) {
  const isColoured = language !== "" && text.length <= MAX_COLOURED;
  if (isColoured && !isLoading) {
    isLoading = true;
    // Without it the text is there all the same.
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
