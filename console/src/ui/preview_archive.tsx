/** The preview of an archive: the list of its files. */

import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../api.js";
import { bytes, plural } from "../format.js";
import { type Listing, listTar, listZip } from "./archive.js";
import { ProblemBox, Skeleton } from "./problem.js";
import { Table } from "./table.js";

type Asset = Schemas["Asset"];

export function isArchive({ content_type: type }: Asset): boolean {
  return ["application/zip", "application/x-tar", "application/gzip"].includes(type);
}

export function ArchivePreview({ asset }: { asset: Asset }) {
  const [listing, setListing] = useState<Listing>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const controller = new AbortController();
    list(asset, controller.signal)
      .then(setListing)
      .catch((failure: unknown) => void (controller.signal.aborted || setError(failure)));
    return () => controller.abort();
  }, [asset.id]);
  if (error !== undefined) return <ProblemBox error={error instanceof Error ? error.message : error} />;
  if (!listing) return <Skeleton />;
  const { entries, isWhole } = listing;
  return (
    <div class="preview is-text" tabIndex={0} role="group" aria-label={`Files in ${asset.name}`}>
      <p class="fine">
        {isWhole ? plural(entries.length, "entry").replace("entrys", "entries") : `The first ${entries.length} entries`}
      </p>
      <Table
        rows={entries.map((entry, index) => ({ ...entry, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { name: "Name", cell: ({ name }) => name, isWrapping: true },
          { name: "Size", cell: ({ size }) => (size === undefined ? "–" : bytes(size)), isNumber: true },
        ]}
      />
    </div>
  );
}

async function list({ content_url: url, content_type: type, size }: Asset, signal: AbortSignal): Promise<Listing> {
  const get = async (headers: HeadersInit) => {
    const response = await fetch(url, { signal, headers });
    if (!response.ok) throw new Error("The file is not available.");
    return response;
  };
  if (type === "application/zip") {
    const read = async (from: number, to: number) =>
      new Uint8Array(await (await get({ range: `bytes=${from}-${to - 1}` })).arrayBuffer());
    return listZip(size, read);
  }
  const { body } = await get({});
  if (!body) throw new Error("The file is empty.");
  return listTar(type === "application/gzip" ? body.pipeThrough(new DecompressionStream("gzip")) : body);
}
