/** The preview of an office document: images of its pages. A worker renders them after the job. */

import { useEffect, useState } from "preact/hooks";
import { api, ApiError, call, type Schemas } from "../api.js";
import { plural } from "../format.js";
import { Icon } from "./icon.js";
import { ProblemBox } from "./problem.js";

type Asset = Schemas["Asset"];

/** The content types that workers render. */
const OFFICE =
  /(wordprocessingml\.document|presentationml\.presentation|spreadsheetml\.sheet|opendocument\.(text|presentation|spreadsheet)|msword|ms-excel|ms-powerpoint|\/rtf)$/;
/** The polling interval while the pages are pending. */
const PAUSE_MS = 2000;

export function isOffice({ content_type: type }: Asset): boolean {
  return OFFICE.test(type);
}

export function PagesPreview({ asset }: { asset: Asset }) {
  const [pages, setPages] = useState<Schemas["AssetPages"]>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let isStopped = false;
    const params = { path: { asset_id: asset.id } };
    const load = async () => {
      while (!isStopped) {
        const loaded = await call(api.GET("/v1/assets/{asset_id}/pages", { params }));
        setPages(loaded);
        if (loaded.status !== "pending") return;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    };
    load().catch(setError);
    return () => void (isStopped = true);
  }, [asset.id]);
  if (error instanceof ApiError && error.status === 404) return <p class="preview is-none">No preview.</p>;
  if (error !== undefined) return <ProblemBox error={error} />;
  if (pages?.status !== "ready") return <NoPages pages={pages} />;
  const total = pages.total_pages ?? 0;
  return (
    <div class="preview is-pages" tabIndex={0} role="group" aria-label={`Pages of ${asset.name}`}>
      {pages.pages.map(({ number, url, width, height }) => (
        <figure key={number}>
          <img src={url} width={width} height={height} loading="lazy" alt={`Page ${number}`} />
          <figcaption>
            {number} of {total}
          </figcaption>
        </figure>
      ))}
      {total > pages.pages.length && pages.pdf_url && (
        <a class="button" href={pages.pdf_url} target="_blank" rel="noopener">
          All {plural(total, "page")} as a PDF
        </a>
      )}
    </div>
  );
}

function NoPages({ pages }: { pages: Schemas["AssetPages"] | undefined }) {
  const reason = pages?.reason;
  return (
    <div class="preview is-none">
      {pages?.status === "failed" ? (
        <p>No preview: {reason}.</p>
      ) : pages?.status === "unavailable" ? (
        <p>No preview: no worker has LibreOffice and poppler-utils.</p>
      ) : (
        <p class="row">
          <Icon name="run" spin />
          The pages appear here after the job ends.
        </p>
      )}
    </div>
  );
}
