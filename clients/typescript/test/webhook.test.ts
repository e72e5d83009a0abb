/** Signatures of webhooks. */

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import { verifyWebhook, WebhookError } from "skillet-client";

// The reference vector of Standard Webhooks.
const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY = '{"email":"test@example.com","username":"test_user"}';
const SIGNATURE = "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=";
const HEADERS = {
  "webhook-id": "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
  "webhook-timestamp": "1649367553",
  "webhook-signature": SIGNATURE,
};
const now = new Date(1649367553_000);

test("the reference vector", async () => {
  const content = { email: "test@example.com", username: "test_user" };
  assert.deepEqual(await verifyWebhook(BODY, HEADERS, SECRET, { now }), content);
  assert.deepEqual(await verifyWebhook(Buffer.from(BODY), new Headers(HEADERS), SECRET, { now }), content);
  const plain = SECRET.replace("whsec_", "");
  assert.deepEqual(await verifyWebhook(BODY, HEADERS, plain, { now }), content);
});

test("one right signature among several is enough", async () => {
  const wrong = `v1,${randomBytes(32).toString("base64")}`;
  for (const signature of [`${wrong} ${SIGNATURE}`, `v1a,AAAA ${SIGNATURE} ${wrong}`, `v1,%% ${SIGNATURE}`]) {
    await verifyWebhook(BODY, { ...HEADERS, "webhook-signature": signature }, SECRET, { now });
  }
});

test("what is not signed is refused", async () => {
  const other = `whsec_${randomBytes(24).toString("base64")}`;
  const cases: [string, Record<string, string | undefined>, string][] = [
    [BODY.replace("test_user", "admin"), HEADERS, SECRET],
    [BODY, HEADERS, other],
    [BODY, { ...HEADERS, "webhook-id": "msg_other" }, SECRET],
    [BODY, { ...HEADERS, "webhook-timestamp": "1649367554" }, SECRET],
    [BODY, { ...HEADERS, "webhook-timestamp": "" }, SECRET],
    [BODY, { ...HEADERS, "webhook-timestamp": "soon" }, SECRET],
    [BODY, { ...HEADERS, "webhook-signature": "" }, SECRET],
    [BODY, { ...HEADERS, "webhook-signature": SIGNATURE.replace("v1,", "v1a,") }, SECRET],
    [BODY, { "webhook-id": HEADERS["webhook-id"] }, SECRET],
    [BODY, {}, SECRET],
  ];
  for (const [body, headers, secret] of cases) {
    await assert.rejects(verifyWebhook(body, headers, secret, { now }), WebhookError, JSON.stringify(headers));
  }
});

test("the time may differ by five minutes", async () => {
  const at = (seconds: number) => ({ now: new Date(now.getTime() + seconds * 1000) });
  for (const seconds of [-300, 300]) await verifyWebhook(BODY, HEADERS, SECRET, at(seconds));
  for (const seconds of [-301, 301]) {
    await assert.rejects(verifyWebhook(BODY, HEADERS, SECRET, at(seconds)), WebhookError);
  }
  await verifyWebhook(BODY, HEADERS, SECRET, { ...at(3000), toleranceSeconds: 3000 });
});

test("bytes that are no ASCII, and the clock", async () => {
  const key = randomBytes(32);
  const body = '{"text":"Brötchen 🥖"}';
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac("sha256", key).update(`msg_1.${timestamp}.${body}`).digest("base64");
  const headers = { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
  assert.deepEqual(await verifyWebhook(Buffer.from(body), headers, `whsec_${key.toString("base64")}`), {
    text: "Brötchen 🥖",
  });
  await assert.rejects(verifyWebhook(body, headers, "whsec_"), TypeError);
});
