/** The programs of the documentation, the example, and the package. */

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

/** The blocks of a page that are TypeScript. */
async function programs(page: string): Promise<string[]> {
  const text = await readFile(new URL(page, ROOT), "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program]) => program ?? "");
}

for (const page of ["README.md", "../../docs/clients.md"]) {
  test(`the programs of ${page} are compiled and run`, async () => {
    const all = await programs(page);
    assert(all.length > 0);
    const folder = join(root, "build", page.replaceAll(/\W/g, "-"));
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    for (const [index, program] of all.entries()) await writeFile(join(folder, `${index}.ts`), program);
    const options = {
      extends: "../../tsconfig.json",
      compilerOptions: { rootDir: ".", outDir: "out", declaration: false },
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ ...options, include: ["."] }));
    await run(join(root, "node_modules/.bin/tsc"), ["--project", folder]);
    for (const [index, program] of all.entries()) {
      // One that serves does not end.
      if (program.includes(".listen(")) continue;
      await run(process.execPath, [`${index}.js`], { cwd: join(folder, "out") });
    }
  });
}

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
