/** Signatures of webhooks (Standard Webhooks 1.0, version `v1`). */

import { WebhookError } from "./errors.js";

/**
 * Verifies the signature and the timestamp of a webhook and returns its content. A signature with any of the secrets
 * (`whsec_…`) is accepted. Throws `WebhookError` if the verification fails.
 *
 * `body` is the raw request body, not JSON that was parsed and serialized again. The timestamp may differ from `now`,
 * by default the current time, by up to `toleranceSeconds`.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secrets: string | readonly string[],
  { toleranceSeconds = 300, now = new Date() }: { toleranceSeconds?: number; now?: Date } = {},
): Promise<unknown> {
  const all = new Headers(headers as HeadersInit);
  const header = (name: string) => {
    const value = all.get(`webhook-${name}`);
    if (value === null) throw new WebhookError(`the webhook has no header webhook-${name}`);
    return value;
  };
  const sentAt = /^\d+$/.test(header("timestamp")) ? Number(header("timestamp")) : NaN;
  if (!(Math.abs(now.getTime() / 1000 - sentAt) <= toleranceSeconds))
    throw new WebhookError(`the timestamp of the webhook is not within ${toleranceSeconds} seconds of now`);
  const content = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${header("id")}.${header("timestamp")}.${content}`);
  const keys = await Promise.all([secrets].flat().map(importKey));
  // Other signatures have another version or are not Base64 of 32 bytes.
  for (const [signature] of header("signature").matchAll(/(?<=^v1,| v1,)[A-Za-z0-9+/]{43}=(?= |$)/g)) {
    // The comparison takes constant time.
    const isRight = (key: CryptoKey) => crypto.subtle.verify("HMAC", key, decode(signature), signed);
    if ((await Promise.all(keys.map(isRight))).includes(true)) return JSON.parse(content);
  }
  throw new WebhookError("no signature matches the body and the secret");
}

async function importKey(secret: string): Promise<CryptoKey> {
  try {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    return await crypto.subtle.importKey("raw", decode(secret.replace(/^whsec_/, "")), algorithm, false, ["verify"]);
  } catch (cause) {
    throw new TypeError("the secret must be `whsec_` followed by Base64", { cause });
  }
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}
