/** The preview of a text file: a table, a tree, Markdown or code. */

import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../api.js";
import { bytes } from "../format.js";
import { Highlighted, languageOf } from "./code.js";
import { parseCsv } from "./csv.js";
import { JsonTree } from "./json_tree.js";
import { Markdown } from "./markdown.js";
import { ProblemBox } from "./problem.js";

type Asset = Schemas["Asset"];

/** The maximum number of bytes that the preview loads. */
const MAX_BYTES = 256 * 1024;

export function isText({ content_type: type, name }: Asset): boolean {
  const textual = /^text\/|json|xml|javascript|yaml|toml|sql|x-sh|x-tex|graphql/;
  return textual.test(type) || /\.(csv|md|json|txt|tsv|ya?ml)$/i.test(name);
}

export function TextPreview({ asset }: { asset: Asset }) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    fetch(asset.content_url, { signal, headers: { range: `bytes=0-${MAX_BYTES - 1}` } })
      .then(async (response) => (response.ok ? setText(await response.text()) : setError(`The file is not available.`)))
      .catch((failure: unknown) => void (signal.aborted || setError(failure)));
    return () => controller.abort();
  }, [asset.id]);
  if (text === undefined) return <ProblemBox error={error} />;
  const isWhole = asset.size <= MAX_BYTES;
  return (
    <div class="preview is-text" tabIndex={0} role="group" aria-label={`Content of ${asset.name}`}>
      {isWhole || <p class="fine">The first {bytes(MAX_BYTES)}.</p>}
      <TextContent text={text} name={asset.name.toLowerCase()} isWhole={isWhole} />
    </div>
  );
}

function TextContent({ text, name, isWhole }: { text: string; name: string; isWhole: boolean }) {
  if (name.endsWith(".csv")) return <CsvTable rows={parseCsv(text)} />;
  if (name.endsWith(".tsv")) return <CsvTable rows={parseCsv(text, "\t")} />;
  if (name.endsWith(".md")) return <Markdown text={text} />;
  const json = name.endsWith(".json") && isWhole ? parseJson(text) : undefined;
  if (json !== undefined) return <JsonTree value={json} />;
  return (
    <pre>
      <Highlighted text={text} language={languageOf(name)} />
    </pre>
  );
}

function CsvTable({ rows: [head = [], ...rows] }: { rows: string[][] }) {
  const cells = (row: string[], Tag: "td" | "th") => row.map((cell, index) => <Tag key={index}>{cell}</Tag>);
  return (
    <table class="table">
      <thead>
        <tr>{cells(head, "th")}</tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>{cells(row, "td")}</tr>
        ))}
      </tbody>
    </table>
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
