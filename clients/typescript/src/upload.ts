/** Uploads of files. */

import { openFile, sendForm } from "#platform";
import type { Connection } from "./connection.js";
import { unwrap } from "./errors.js";
import { withRetries } from "./retry.js";

/** The progress of one upload, in bytes. */
export interface Progress {
  name: string;
  sent: number;
  total: number;
}

export interface UploadOptions {
  onProgress?: ((progress: Progress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Uploads a `File`, a `Blob`, or the file at a path (Node.js). The content is read while it is sent. */
export async function upload({ api, send, timing }: Connection, file: string | Blob, options: UploadOptions = {}) {
  const { onProgress, signal } = options;
  const named = { name: file instanceof File ? file.name : "file", content: file as Blob };
  const { name, content } = typeof file === "string" ? await openFile(file) : named;
  const form = new FormData();
  form.append("file", content, name);
  const total = content.size;
  let reported = -1;
  const report = (sentOfForm: number) => {
    // The form is slightly larger than the file.
    const sent = Math.min(sentOfForm, total);
    if (sent > reported) onProgress?.({ name, sent: (reported = sent), total });
  };
  const attempt = () =>
    api.POST("/v1/assets", {
      body: { file: "" },
      bodySerializer: () => form,
      fetch: (request) => (onProgress ? sendForm(request, form, report, send) : send(request)),
      signal: signal ?? null,
      // To follow a redirect, Node.js would keep the whole body in memory.
      redirect: "error",
    });
  // Retrying is safe: at worst it leaves an unused asset.
  return unwrap(await withRetries(attempt, true, timing, signal));
}
