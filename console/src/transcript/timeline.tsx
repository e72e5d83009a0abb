/** The timeline of a job: one row per span, and a scale. */

import { useState } from "preact/hooks";
import type { JobEvent } from "../../../clients/typescript/src/types.js";
import { duration, now } from "../format.js";
import { type Span, type SpanKind, spansOf, withoutWaiting } from "./spans.js";

const KINDS: Record<SpanKind, string> = { queue: "Queue", model: "Model", tool: "Tool", approval: "Approval" };
/** The number of spans shown at first and added by each click on "Show more". */
const PAGE = 300;
const TICKS = [0, 0.5, 1];

export function Timeline({ events, job, isOver }: { events: JobEvent[]; job: string; isOver: boolean }) {
  const [skipsWaiting, setSkipsWaiting] = useState(false);
  const [shown, setShown] = useState(PAGE);
  const all = spansOf(events, isOver ? 0 : now.value);
  const spans = skipsWaiting ? withoutWaiting(all) : all;
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(...spans.map((span) => span.to));
  const total = Math.max(1, to - from);
  const attempts = new Set(spans.map(({ attempt }) => attempt)).size;
  if (events.length === 0) return null;
  return (
    <div class="timeline">
      <div class="row">
        {Object.entries(KINDS).map(([kind, title]) => (
          <span class="legend" key={kind}>
            <i class={`bar is-${kind}`} /> {title} {duration(sum(spans, kind))}
          </span>
        ))}
        <label class="check is-pushed">
          <input
            type="checkbox"
            checked={skipsWaiting}
            onChange={({ currentTarget }) => setSkipsWaiting(currentTarget.checked)}
          />
          Hide waiting
        </label>
      </div>
      <div class="scale" aria-hidden="true">
        {TICKS.map((part) => (
          <span key={part}>{duration(total * part)}</span>
        ))}
      </div>
      <ol class="spans">
        {spans.slice(0, shown).map((span, index) => (
          <li key={`${span.kind}${span.seq}`}>
            {attempts > 1 && span.attempt !== spans[index - 1]?.attempt && (
              <div class="divider">Attempt {span.attempt}</div>
            )}
            <SpanRow span={span} from={from} total={total} job={job} />
          </li>
        ))}
      </ol>
      {spans.length > shown && (
        <button class="button is-wide" onClick={() => setShown(shown + PAGE)}>
          Show more
        </button>
      )}
    </div>
  );
}

interface SpanRowProps {
  span: Span;
  from: number;
  total: number;
  job: string;
}

function SpanRow({ span, from, total, job }: SpanRowProps) {
  const left = ((span.from - from) / total) * 100;
  const width = ((span.to - span.from) / total) * 100;
  return (
    <a class={span.isFailed ? "span is-failed" : "span"} href={`/console/jobs/${job}#e${span.seq}`}>
      <span class="span-name" title={span.name}>
        {span.name}
      </span>
      <span class="track">
        <i class={`bar is-${span.kind}`} style={{ left: `${left}%`, width: `max(2px, ${width}%)` }} />
      </span>
      <span class="span-time">{duration(span.to - span.from)}</span>
    </a>
  );
}

function sum(spans: Span[], kind: string): number {
  return spans.filter((span) => span.kind === kind).reduce((total, { from, to }) => total + to - from, 0);
}
