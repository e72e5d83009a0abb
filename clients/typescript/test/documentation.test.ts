/** Tests of the documentation's programs, the example and the package. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "./service.js";

const run = promisify(execFile);
const root = ROOT.pathname;

/** Returns the TypeScript code blocks of a page. */
async function programs(page: string): Promise<string[]> {
  const text = await readFile(new URL(page, ROOT), "utf8");
  return [...text.matchAll(/^(`{3,})ts\n(.*?)^\1$/gms)].map(([, , program]) => program ?? "");
}

test("the programs of the README and of docs/clients.md are compiled and run", async () => {
  const all = [...(await programs("README.md")), ...(await programs("../../docs/clients.md"))];
  const folder = join(root, "build/documentation");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const [index, program] of all.entries()) await writeFile(join(folder, `${index}.ts`), program);
  const compilerOptions = { rootDir: ".", outDir: "out", declaration: false };
  const config = { extends: "../../tsconfig.json", compilerOptions, include: ["."] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  await run(join(root, "node_modules/.bin/tsc"), ["--project", folder]);
  // A program that starts a server does not end.
  const ending = all.flatMap((program, index) => (program.includes(".listen(") ? [] : [index]));
  for (const index of ending) await run(process.execPath, [`${index}.js`], { cwd: join(folder, "out") });
  assert(ending.length > 4);
});

test("the example submits, follows, approves and downloads", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skillet-"));
  const { stdout } = await run(process.execPath, [join(root, "example/report.mjs"), folder]);
  assert.match(stdout, /^approving \{ echo/m);
  assert.match(stdout, /^saved .*prices.html$/m);
  assert.match(await readFile(join(folder, "prices.html"), "utf8"), /rye,3\nspelt,4/);
  await rm(folder, { recursive: true });
});

test("the package has the program, its types and its licences, and nothing else", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const others = files.map(({ path }) => path).filter((path) => !/^dist\/[\w.]+\.(js|d\.ts)$/.test(path));
  assert.deepEqual(others.filter((path) => !path.startsWith("LICENSE-")).sort(), [
    "CHANGELOG.md",
    "README.md",
    "package.json",
  ]);
});
