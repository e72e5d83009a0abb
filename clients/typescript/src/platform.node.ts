/** Platform functions for Node.js: environment variables, files and upload progress. */

import { createHash, randomUUID } from "node:crypto";
import { openAsBlob } from "node:fs";
import { access, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Send } from "./connection.js";

/** The URL and the API key from the environment. */
export const defaults = { url: process.env.SKILLET_URL, apiKey: process.env.SKILLET_API_KEY };

/** Opens a file, whose content is read while it is sent. */
export async function openFile(path: string): Promise<{ name: string; content: Blob }> {
  // The error of `access` includes the path.
  await access(path);
  return { name: basename(path), content: await openAsBlob(path) };
}

/** Writes to a temporary file and renames it if `check` accepts its SHA-256. Returns the path of the file. */
export async function saveFile(
  to: string,
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  check: (sha256: string) => void,
): Promise<string> {
  const isFolder = (await stat(to).catch(() => undefined))?.isDirectory();
  // The service sends names without folders. The client does not rely on it.
  const path = isFolder ? join(to, basename(name)) : to;
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  const hash = createHash("sha256");
  async function* hashed() {
    for await (const chunk of chunks) yield (hash.update(chunk), chunk);
  }
  try {
    await writeFile(temporary, hashed(), { flag: "wx" });
    check(hash.digest("hex"));
    await rename(temporary, path);
    return path;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Receives the number of bytes sent so far. */
type Report = (sent: number) => void;

/** Sends a form and reports the number of bytes sent so far. */
export function sendForm(request: Request, _form: FormData, report: Report, send: Send): Promise<Response> {
  let sent = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      report((sent += chunk.byteLength));
      controller.enqueue(chunk);
    },
  });
  // A streamed body needs `duplex`, which the DOM types lack.
  const init: RequestInit & { duplex: "half" } = { body: request.body!.pipeThrough(counter), duplex: "half" };
  return send(new Request(request, init));
}
