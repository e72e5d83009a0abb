/**
 * Build of `dist/`, which is committed and reproducible. `--watch` builds after each change, `--check` compares a new
 * build with the committed files and checks the sizes, `--test` builds the unit tests.
 */

import { copyFile, mkdtemp, readdir, readFile, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

/** The maximum compressed sizes of the first load and of all files. */
const MAX_FIRST_BYTES = 70 * 1024;
const MAX_BYTES = 130 * 1024;
/** The files that are loaded on demand. */
const LATER = /^(later|prerender|highlight)-/;

const root = dirname(fileURLToPath(import.meta.url));
const mode = process.argv[2];

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  // The client is in another folder. Its packages come from here, whether they are installed there or not, because the
  // build must not depend on it.
  alias: {
    "#platform": join(root, "../clients/typescript/src/platform.browser.ts"),
    "eventsource-parser": join(root, "node_modules/eventsource-parser"),
    "openapi-fetch": join(root, "node_modules/openapi-fetch"),
  },
  // The language modules of Prism use `global`.
  define: { global: "globalThis" },
  logLevel: "warning",
};

const page = (outdir) => ({
  ...shared,
  entryPoints: { console: "src/main.tsx", style: "src/style/main.css" },
  outdir,
  minify: true,
  splitting: true,
  chunkNames: "[name]-[hash]",
  legalComments: "none",
});

async function build(outdir) {
  // The names of chunks change with their content, so old chunks are deleted.
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  await esbuild.build(page(outdir));
  for (const name of ["index.html", "icon.svg"]) await copyFile(join(root, "src", name), join(outdir, name));
}

async function check() {
  const fresh = await mkdtemp(join(tmpdir(), "console-"));
  await build(fresh);
  let [first, all] = [0, 0];
  const names = await readdir(fresh);
  const extra = (await readdir(join(root, "dist"))).filter((name) => !names.includes(name));
  if (extra.length) throw new Error(`dist/${extra[0]} is not part of the build: npm run build`);
  for (const name of names) {
    const built = await readFile(join(fresh, name));
    const committed = await readFile(join(root, "dist", name)).catch(() => null);
    if (!committed?.equals(built)) throw new Error(`dist/${name} differs from the build: npm run build`);
    const { length } = gzipSync(built);
    all += length;
    if (!LATER.test(name)) first += length;
  }
  if (first > MAX_FIRST_BYTES) throw new Error(`the first load has ${first} bytes compressed, over ${MAX_FIRST_BYTES}`);
  if (all > MAX_BYTES) throw new Error(`dist has ${all} bytes compressed, over ${MAX_BYTES}`);
  console.log(`dist is up to date: ${first} bytes compressed at first, ${all} in total`);
}

async function tests() {
  const names = (await readdir(join(root, "test"))).filter((name) => name.endsWith(".test.ts"));
  const entryPoints = names.map((name) => `test/${name}`);
  await esbuild.build({ ...shared, entryPoints, outdir: "build", platform: "node", packages: "external" });
}

if (mode === "--check") await check();
else if (mode === "--test") await tests();
else await build(join(root, "dist"));
if (mode === "--watch") await (await esbuild.context(page(join(root, "dist")))).watch();
