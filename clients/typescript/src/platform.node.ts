/** The parts for Node.js: the environment, files, and the progress of an upload. */

import { createHash, randomUUID } from "node:crypto";
import { openAsBlob } from "node:fs";
import { access, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Send } from "./connection.js";

/** The service and the key of this process. */
export const defaults = { url: process.env.SKILLET_URL, apiKey: process.env.SKILLET_API_KEY };

/** A file that is read as it is sent. */
export async function openFile(path: string): Promise<{ name: string; content: Blob }> {
  // Its error names the path.
  await access(path);
  return { name: basename(path), content: await openAsBlob(path) };
}

/** Writes to a temporary file beside its place, and renames it if `check` accepts its SHA-256; returns the place. */
export async function saveFile(
  to: string,
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  check: (sha256: string) => void,
): Promise<string> {
  const isFolder = (await stat(to).catch(() => undefined))?.isDirectory();
  // The service says that the name has no folders.
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

/** Receives the number of bytes that have been sent. */
type Report = (sent: number) => void;

/** Sends a form, and reports how many bytes of it have been sent. */
export function sendForm(request: Request, _form: FormData, report: Report, send: Send): Promise<Response> {
  let sent = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      report((sent += chunk.byteLength));
      controller.enqueue(chunk);
    },
  });
  // The types of the DOM lack `duplex`, which a body that is streamed needs.
  const init: RequestInit & { duplex: "half" } = { body: request.body!.pipeThrough(counter), duplex: "half" };
  return send(new Request(request, init));
}
