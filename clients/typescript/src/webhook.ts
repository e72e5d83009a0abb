/** Signatures of webhooks (Standard Webhooks 1.0, version `v1`). */

import { WebhookError } from "./errors.js";

/**
 * Returns the content of a webhook that was signed with a secret (`whsec_…`) a short time ago. Any other is a
 * `WebhookError`. `body` is what arrived, byte for byte, and not JSON that was parsed and written again. One of
 * several secrets is enough. The time may be `toleranceSeconds` from `now`, which replaces the clock.
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
    throw new WebhookError("the time of the webhook is too far from now");
  const content = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${header("id")}.${header("timestamp")}.${content}`);
  const keys = await Promise.all([secrets].flat().map(importKey));
  // The others have another version, or are not the 32 bytes of a SHA-256.
  for (const [signature] of header("signature").matchAll(/(?<=^v1,| v1,)[A-Za-z0-9+/]{43}=(?= |$)/g)) {
    // This takes the same time whichever byte is wrong.
    const isRight = (key: CryptoKey) => crypto.subtle.verify("HMAC", key, decode(signature), signed);
    if ((await Promise.all(keys.map(isRight))).includes(true)) return JSON.parse(content);
  }
  throw new WebhookError("no signature of the webhook is right");
}

async function importKey(secret: string): Promise<CryptoKey> {
  try {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    return await crypto.subtle.importKey("raw", decode(secret.replace(/^whsec_/, "")), algorithm, false, ["verify"]);
  } catch (cause) {
    throw new TypeError("secret: it must be whsec_ and Base64", { cause });
  }
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}
