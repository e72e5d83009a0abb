/** Previews of files. Active content runs in a sandboxed frame without network access. */

import { useState } from "preact/hooks";
import type { Schemas } from "../api.js";
import { bytes } from "../format.js";
import { ArchivePreview, isArchive } from "./preview_archive.js";
import { isOffice, PagesPreview } from "./preview_pages.js";
import { isText, TextPreview } from "./preview_text.js";

type Asset = Schemas["Asset"];

/** Whether a browser would run scripts in the file. */
function isActive({ content_type: type }: Asset): boolean {
  return type === "text/html" || type === "image/svg+xml";
}

/** Returns the address at which a browser shows the file. */
export function viewAddress(asset: Asset): string {
  return isActive(asset) ? `/v1/assets/${asset.id}/preview` : asset.content_url;
}

export function Preview({ asset }: { asset: Asset }) {
  const { content_type: type, content_url: url, name } = asset;
  if (isActive(asset)) {
    return (
      <figure class="preview is-model">
        <iframe src={viewAddress(asset)} title={name} sandbox="allow-scripts" />
        <figcaption>Made by a model. It has no access to the network or your data.</figcaption>
      </figure>
    );
  }
  if (type.startsWith("image/")) return <ImagePreview url={url} name={name} />;
  if (type.startsWith("audio/")) return <audio class="preview" controls src={url} aria-label={name} />;
  if (type.startsWith("video/")) return <video class="preview" controls src={url} aria-label={name} />;
  if (type === "application/pdf") return <iframe class="preview is-page" src={url} title={name} />;
  if (isOffice(asset)) return <PagesPreview asset={asset} />;
  if (isArchive(asset)) return <ArchivePreview asset={asset} />;
  return isText(asset) ? <TextPreview asset={asset} /> : <NoPreview asset={asset} />;
}

function ImagePreview({ url, name }: { url: string; name: string }) {
  const [isFull, setFull] = useState(false);
  return (
    <button
      class={isFull ? "preview is-image is-full" : "preview is-image"}
      aria-label="Zoom"
      onClick={() => setFull(!isFull)}
    >
      <img src={url} alt={name} />
    </button>
  );
}

function NoPreview({ asset }: { asset: Asset }) {
  return (
    <div class="preview is-none">
      <p>No preview for this type.</p>
      <p class="fine">
        {asset.content_type} · {bytes(asset.size)}
      </p>
      <p class="fine hash">SHA-256 {asset.sha256}</p>
    </div>
  );
}
