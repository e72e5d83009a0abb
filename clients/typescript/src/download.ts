/** Downloads of assets. */

import { saveFile } from "#platform";
import type { Connection } from "./connection.js";
import { ChecksumError, unwrap } from "./errors.js";
import type { Asset } from "./types.js";

/** Downloads an asset to a file, or returns its content. The file gets its name only if its SHA-256 matches. */
export async function download(connection: Connection, asset: Asset, to?: string, signal?: AbortSignal) {
  const content = chunks(connection, asset, signal);
  if (to !== undefined) return saveFile(to, asset.name, content, (sha256) => check(asset, sha256));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of content) parts.push(chunk);
  const blob = new Blob(parts, { type: asset.content_type });
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
  check(asset, Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join(""));
  return blob;
}

async function* chunks({ api }: Connection, asset: Asset, signal?: AbortSignal) {
  const params = { path: { asset_id: asset.id } };
  const request = api.GET("/v1/assets/{asset_id}/content", { params, parseAs: "stream", signal: signal ?? null });
  const reader = unwrap(await request)?.getReader();
  try {
    // Some browsers cannot iterate over a stream.
    for (let read; reader && !(read = await reader.read()).done;) yield read.value;
  } finally {
    await reader?.cancel();
  }
}

function check({ name, sha256 }: Asset, actual: string): void {
  if (actual !== sha256) throw new ChecksumError(`the download of ${name} has SHA-256 ${actual}, not ${sha256}`);
}
