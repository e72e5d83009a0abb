/** Tests of uploads and downloads. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { type Asset, ChecksumError } from "skillet-client";
import { startProxy } from "./proxy.js";
import { client, QUICK, ROOT, shell } from "./service.js";

let folder: string;
before(async () => (folder = await mkdtemp(join(tmpdir(), "skillet-"))));
after(() => rm(folder, { recursive: true }));

interface Transfer {
  asset: Asset;
  grows: boolean;
  reports: number;
  last: number;
  kib: number;
}

async function transfer(bytes: number): Promise<Transfer> {
  const from = join(folder, "from.bin");
  const content = randomBytes(bytes);
  await writeFile(from, content);
  const program = new URL("build/test/transfer.js", ROOT).pathname;
  const to = join(folder, "to.bin");
  const { stdout } = await promisify(execFile)(process.execPath, [program, from, to]);
  const result = JSON.parse(stdout) as Transfer;
  assert.equal(result.asset.sha256, createHash("sha256").update(content).digest("hex"));
  assert(content.equals(await readFile(to)));
  return result;
}

test("80 MB are uploaded and downloaded with little memory, with progress", async () => {
  const small = await transfer(100_000);
  const large = await transfer(80_000_000);
  assert(large.grows && large.last === 80_000_000, JSON.stringify(large));
  assert(large.reports > 100, JSON.stringify(large));
  // Node.js delays garbage collection, but the amount of garbage does not grow with the file.
  assert(large.kib - small.kib < 80_000, `${small.kib} KiB for 0.1 MB, ${large.kib} KiB for 80 MB`);
});

test("a redirect to a bucket is followed without the key", async () => {
  const asset = await client().upload(new File(["content"], "a.txt"));
  const seen: http.IncomingHttpHeaders[] = [];
  const bucket = http.createServer((request, response) => {
    seen.push(request.headers);
    response.end("content");
  });
  await new Promise<void>((resolve) => bucket.listen(0, "127.0.0.1", resolve));
  const location = `http://127.0.0.1:${(bucket.address() as AddressInfo).port}/a.txt?signature=1`;
  const service = await startProxy(({ path }) =>
    path.endsWith("/content") ? { kind: "answer", status: 307, headers: { location } } : undefined,
  );
  try {
    assert.equal(await (await client({ url: service.url }).download(asset)).text(), "content");
    assert.equal(seen.length, 1);
    assert.equal(seen[0]?.authorization, undefined);
  } finally {
    service.close();
    bucket.closeAllConnections();
    bucket.close();
  }
});

test("names and content are unchanged, also those of empty files", async () => {
  const skillet = client();
  for (const [name, content] of [
    ["Brötchen 🥖.csv", "rye,3\n"],
    ["empty.txt", ""],
    ['a "quoted" name.txt', "x"],
  ] as const) {
    const seen: object[] = [];
    const asset = await skillet.upload(new File([content], name), { onProgress: (progress) => seen.push(progress) });
    assert.equal(asset.name, name);
    assert.deepEqual(seen.at(-1), { name, sent: asset.size, total: asset.size });
    assert.equal(await (await skillet.download(asset)).text(), content);
  }
  assert.equal((await skillet.upload(new Blob(["x"]))).name, "file");
  await assert.rejects(skillet.upload(join(folder, "missing")), /ENOENT|missing/);
});

test("a job starts from files: a path, a File, and data", async () => {
  const path = join(folder, "one.txt");
  await writeFile(path, "one\n");
  const inputs = [{ name: "three.txt", data: btoa("three\n") }];
  const files = [path, new File(["two\n"], "two.txt")];
  const job = await client().run({ ...shell("cat one.txt two.txt three.txt"), files, inputs });
  assert.equal(job.text, "one\ntwo\nthree");
});

test("an incomplete or changed download does not replace the existing file", async () => {
  const asset = await client().upload(new File(["x".repeat(100_000)], "x.txt"));
  const path = join(folder, "kept", "x.txt");
  await mkdir(join(folder, "kept"));
  await writeFile(path, "before");
  for (const kind of ["close", "reset", "edit"] as const) {
    const edit = (text: string) => text.replace("x", "y");
    const proxy = await startProxy(() => (kind === "edit" ? { kind, edit } : { kind, after: 50_000 }));
    const skillet = client({ url: proxy.url, timing: QUICK });
    const error = kind === "edit" ? ChecksumError : Error;
    await assert.rejects(skillet.download(asset, path), error, kind);
    await assert.rejects(skillet.download(asset), error, kind);
    proxy.close();
    assert.deepEqual(await readdir(join(folder, "kept")), ["x.txt"], kind);
    assert.equal(await readFile(path, "utf8"), "before");
  }
  await client().download(asset, path);
  assert.equal((await readFile(path)).length, 100_000);
});

test("an upload is retried while the service is unavailable", async () => {
  const faults = ["lost", "answer"] as const;
  const proxy = await startProxy(({ count }) => {
    const kind = faults[count - 1];
    return kind === "answer" ? { kind, status: 503 } : kind && { kind };
  });
  const skillet = client({ url: proxy.url, timing: QUICK });
  const content = randomBytes(300_000);
  const asset = await skillet.upload(new File([content], "a.bin"), { onProgress: () => {} });
  proxy.close();
  assert.equal(asset.sha256, createHash("sha256").update(content).digest("hex"));
  assert.equal(proxy.requests.length, 3);
});
