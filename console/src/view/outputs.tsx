/** The result and the output files of a job, with a preview of one file. */

import type { Job } from "../api.js";
import { bytes } from "../format.js";
import { useState } from "preact/hooks";
import type { Log } from "../transcript/follow.js";
import { Dialog } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { JsonTree } from "../ui/json_tree.js";
import { Preview, viewAddress } from "../ui/preview.js";
import { isOver } from "../ui/status.js";

interface OutputsProps {
  job: Job;
  log: Log;
  opened: string | undefined;
  openFile: (asset: string) => void;
}

export function Outputs({ job, log, opened, openFile }: OutputsProps) {
  const fromLog = log.transcript.value.items.flatMap((item) => (item.kind === "file" ? [item.output] : []));
  const outputs = job.outputs.length ? job.outputs : fromLog;
  const current = outputs.find(({ asset }) => asset.id === opened) ?? outputs.at(0);
  const [isLarge, setLarge] = useState(false);
  const result = job.result;
  return (
    <>
      <h2>Outputs{outputs.length > 1 && <span class="tab-count">{outputs.length}</span>}</h2>
      {result !== undefined && result !== null && <JsonTree value={result} />}
      {!current && (
        <p class="fine">{isOver(job.status) ? "The job created no files." : "Files appear here when created."}</p>
      )}
      {outputs.length > 1 && (
        <div class="output-list" role="group" aria-label="Outputs">
          {outputs.map(({ kind, asset }) => (
            <button key={asset.id} aria-pressed={asset.id === current?.asset.id} onClick={() => openFile(asset.id)}>
              <Icon name={kind} />
              <span>{asset.name}</span>
              <span class="fine">{bytes(asset.size)}</span>
            </button>
          ))}
        </div>
      )}
      {current && (
        <>
          <Preview key={current.asset.id} asset={current.asset} />
          <div class="row output-foot">
            <span class="output-name" title={current.asset.name}>
              {current.asset.name}
            </span>
            <span class="fine">{bytes(current.asset.size)}</span>
            <button class="plain is-pushed" aria-label="Enlarge" title="Enlarge" onClick={() => setLarge(true)}>
              <Icon name="enlarge" />
            </button>
            <a
              class="plain"
              href={viewAddress(current.asset)}
              target="_blank"
              rel="noopener"
              aria-label="Open in a new tab"
            >
              <Icon name="open" />
            </a>
            <a class="plain" href={current.asset.content_url} download={current.asset.name} aria-label="Download">
              <Icon name="download" />
            </a>
          </div>
          {isLarge && (
            <Dialog title={current.asset.name} isFull close={() => setLarge(false)}>
              <Preview asset={current.asset} />
            </Dialog>
          )}
        </>
      )}
    </>
  );
}
