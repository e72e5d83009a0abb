/** Looking at a file: what a model made is shown where it reaches nothing. */

import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../api.js";
import { bytes } from "../format.js";
import { JsonTree } from "./json_tree.js";
import { Markdown } from "./markdown.js";
import { ProblemBox } from "./problem.js";

type Asset = Schemas["Asset"];

/** As much of a text as is loaded. */
const MAX_TEXT_BYTES = 256 * 1024;
const MAX_ROWS = 500;

/** Where a browser shows the file. */
export function viewAddress({ id, content_type: type, content_url: url }: Asset): string {
  return type === "text/html" || type === "image/svg+xml" ? `/v1/assets/${id}/preview` : url;
}

export function Preview({ asset }: { asset: Asset }) {
  const { content_type: type, content_url: url, name } = asset;
  if (type === "text/html" || type === "image/svg+xml") {
    return (
      <figure class="preview is-model">
        <iframe src={viewAddress(asset)} title={name} sandbox="allow-scripts" />
        <figcaption>Made by a model. It reaches no network and none of your data.</figcaption>
      </figure>
    );
  }
  if (type.startsWith("image/")) return <ImagePreview url={url} name={name} />;
  if (type.startsWith("audio/")) return <audio class="preview" controls src={url} aria-label={name} />;
  if (type.startsWith("video/")) return <video class="preview" controls src={url} aria-label={name} />;
  if (type === "application/pdf") return <iframe class="preview is-page" src={url} title={name} />;
  const isText =
    type.startsWith("text/") || type === "application/json" || /\.(csv|md|json|txt|tsv|ya?ml)$/i.test(name);
  return isText ? <TextPreview asset={asset} /> : <NoPreview asset={asset} />;
}

function ImagePreview({ url, name }: { url: string; name: string }) {
  const [isFull, setFull] = useState(false);
  return (
    <button
      class={isFull ? "preview is-image is-full" : "preview is-image"}
      aria-label="Zoom"
      onClick={() => setFull(!isFull)}
    >
      <img src={url} alt={name} />
    </button>
  );
}

function NoPreview({ asset }: { asset: Asset }) {
  return (
    <div class="preview is-none">
      <p>No preview of this type.</p>
      <p class="fine">
        {asset.content_type} · {bytes(asset.size)}
      </p>
      <p class="fine hash">SHA-256 {asset.sha256}</p>
    </div>
  );
}

function TextPreview({ asset }: { asset: Asset }) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    fetch(asset.content_url, { signal, headers: { range: `bytes=0-${MAX_TEXT_BYTES - 1}` } })
      .then(async (response) => (response.ok ? setText(await response.text()) : setError(`The file is not available.`)))
      .catch((failure: unknown) => void (signal.aborted || setError(failure)));
    return () => controller.abort();
  }, [asset.id]);
  if (text === undefined) return <ProblemBox error={error} />;
  const isWhole = asset.size <= MAX_TEXT_BYTES;
  return (
    <div class="preview is-text">
      {isWhole || <p class="fine">The first {bytes(MAX_TEXT_BYTES)}.</p>}
      <TextContent text={text} name={asset.name.toLowerCase()} isWhole={isWhole} />
    </div>
  );
}

function TextContent({ text, name, isWhole }: { text: string; name: string; isWhole: boolean }) {
  if (name.endsWith(".csv") || name.endsWith(".tsv")) {
    const [head = [], ...rows] = parseCsv(text, name.endsWith(".tsv") ? "\t" : ",");
    return (
      <div class="scroll" tabIndex={0}>
        <table class="table">
          <thead>
            <tr>
              {head.map((cell, index) => (
                <th key={index}>{cell}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, column) => (
                  <td key={column}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }
  if (name.endsWith(".md")) return <Markdown text={text} />;
  const json = name.endsWith(".json") && isWhole ? parseJson(text) : undefined;
  return json === undefined ? <pre tabIndex={0}>{text}</pre> : <JsonTree value={json} />;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first rows of a file with quotes as RFC 4180 has them. */
export function parseCsv(text: string, separator = ","): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  const endRow = () => {
    row.push(cell);
    rows.push(row);
    [row, cell] = [[], ""];
  };
  for (let index = 0; index < text.length && rows.length <= MAX_ROWS; index++) {
    const char = text[index];
    if (isQuoted && char === '"' && text[index + 1] === '"') cell += text[++index];
    else if (char === '"' && (isQuoted || cell === "")) isQuoted = !isQuoted;
    else if (isQuoted) cell += char;
    else if (char === separator) [cell] = ["", row.push(cell)];
    else if (char === "\n") endRow();
    else if (char !== "\r") cell += char;
  }
  if (cell !== "" || row.length) endRow();
  return rows;
}
