/** Tests of webhook signatures with the vectors shared by all clients. */

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { verifyWebhook, WebhookError } from "skillet-client";
import { ROOT } from "./service.js";

interface Vector {
  name: string;
  now: number;
  secrets: string[];
  headers: Record<string, string>;
  body: string;
  error: "header" | "time" | "signature" | null;
}

const vectors = JSON.parse(readFileSync(new URL("../webhook.json", ROOT), "utf8")) as Vector[];
const MESSAGES = { header: /no header/, time: /not within 300 seconds/, signature: /no signature/ };

for (const { name, now, secrets, headers, body, error } of vectors) {
  test(name, async () => {
    for (const sent of [body, Buffer.from(body)]) {
      const verified = verifyWebhook(sent, headers, secrets, { now: new Date(now * 1000) });
      if (error === null) assert.deepEqual(await verified, JSON.parse(body));
      else await assert.rejects(verified, (it) => it instanceof WebhookError && MESSAGES[error].test(it.message));
    }
  });
}

test("a single secret, the current time, and a different tolerance", async () => {
  const key = randomBytes(32);
  const secret = `whsec_${key.toString("base64")}`;
  const webhook = (secondsAgo: number) => {
    const timestamp = String(Math.floor(Date.now() / 1000) - secondsAgo);
    const signature = createHmac("sha256", key).update(`msg_1.${timestamp}.{}`).digest("base64");
    return new Headers({
      "Webhook-Id": "msg_1",
      "Webhook-Timestamp": timestamp,
      "Webhook-Signature": `v1,${signature}`,
    });
  };
  assert.deepEqual(await verifyWebhook("{}", webhook(0), secret), {});
  await assert.rejects(verifyWebhook("{}", webhook(400), secret), WebhookError);
  assert.deepEqual(await verifyWebhook("{}", webhook(400), secret, { toleranceSeconds: 500 }), {});
});

test("a malformed secret is a TypeError", async () => {
  for (const secret of ["", "whsec_", "whsec_%"]) {
    const { headers, body, now } = vectors[0]!;
    await assert.rejects(verifyWebhook(body, headers, secret, { now: new Date(now * 1000) }), TypeError);
  }
});
