/** Signatures of webhooks (Standard Webhooks 1.0, version `v1`). */

import { WebhookError } from "./errors.js";

export interface VerifyOptions {
  /** How far the time of the webhook may be from now; 300 seconds if not given. */
  toleranceSeconds?: number;
  /** Now, in place of the clock. */
  now?: Date;
}

/**
 * Returns the content of a webhook that was signed with the secret (`whsec_…`) a short time ago. Any other is a
 * `WebhookError`. `body` is what arrived, byte for byte, and not JSON that was parsed and written again.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string,
  { toleranceSeconds = 300, now = new Date() }: VerifyOptions = {},
): Promise<unknown> {
  const all = new Headers(headers as HeadersInit);
  const header = (name: string) => {
    const value = all.get(`webhook-${name}`);
    if (value === null) throw new WebhookError(`the webhook has no header webhook-${name}`);
    return value;
  };
  const age = now.getTime() / 1000 - Number(header("timestamp"));
  if (!(Math.abs(age) <= toleranceSeconds)) throw new WebhookError("the time of the webhook is too far from now");
  const content = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${header("id")}.${header("timestamp")}.${content}`);
  const keyBytes = decodeBase64(secret.replace(/^whsec_/, ""));
  if (!keyBytes?.length) throw new TypeError("secret: it must be whsec_ and Base64");
  const key = await crypto.subtle.importKey("raw", keyBytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const signature of header("signature").split(" ")) {
    const bytes = signature.startsWith("v1,") && decodeBase64(signature.slice(3));
    // This takes the same time whichever byte is wrong.
    if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, signed))) return JSON.parse(content);
  }
  throw new WebhookError("no signature of the webhook is right");
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
