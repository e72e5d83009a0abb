/** The stored events of a job. */

import { useState } from "preact/hooks";
import type { JobEvent } from "../../../clients/typescript/src/types.js";
import { CopyButton } from "../ui/copy.js";

/** The number of events shown at first and added by each click on "Show more". */
const PAGE = 300;

export function RawLog({ events, job }: { events: JobEvent[]; job: string }) {
  const [type, setType] = useState("");
  const [text, setText] = useState("");
  const [shown, setShown] = useState(PAGE);
  const types = [...new Set(events.map((event) => String(event.type)))].sort();
  const matches = events.filter(
    (event) => (type === "" || event.type === type) && (text === "" || JSON.stringify(event.data).includes(text)),
  );
  const start = Date.parse(events[0]?.at ?? "");
  return (
    <div class="stack">
      <div class="filters">
        <select class="control" aria-label="Type" value={type} onChange={(event) => setType(event.currentTarget.value)}>
          <option value="">All types</option>
          {types.map((it) => (
            <option key={it}>{it}</option>
          ))}
        </select>
        <input
          class="control"
          aria-label="Search in events"
          placeholder="Search"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <CopyButton text={matches.map((event) => JSON.stringify(event)).join("\n")} label="Copy as NDJSON" />
        <a class="button small is-quiet" href={`/v1/jobs/${job}/events?limit=1000`} target="_blank" rel="noopener">
          Open in the API
        </a>
      </div>
      <div class="raw-log">
        {matches.slice(0, shown).map((event) => (
          <details key={event.seq} id={`e${event.seq}`}>
            <summary>
              <span class="seq">{event.seq}</span>
              <code class="raw-type">{event.type}</code>
              <span class="raw-data">{JSON.stringify(event.data)}</span>
              <span class="fine">+{((Date.parse(event.at) - start) / 1000).toFixed(2)} s</span>
            </summary>
            <pre tabIndex={0}>{JSON.stringify(event.data, null, 2)}</pre>
          </details>
        ))}
      </div>
      {matches.length > shown && (
        <button class="button is-wide" onClick={() => setShown(shown + PAGE)}>
          Show more
        </button>
      )}
    </div>
  );
}
