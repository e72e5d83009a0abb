/** The transcript of a job. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { lostSince } from "../api.js";
import { bytes, dateTime, duration, words } from "../format.js";
import { useKeys } from "../keyboard.js";
import { Icon } from "../ui/icon.js";
import { Markdown } from "../ui/markdown.js";
import { ProblemBox } from "../ui/problem.js";
import { CallView } from "./call.js";
import type { Log } from "./follow.js";
import type { End, Item, Turn } from "./state.js";

/** The maximum distance from the end at which following stays on after scrolling. */
const NEAR_END_PX = 80;

export function TranscriptView({ log, openFile }: { log: Log; openFile: (asset: string) => void }) {
  const { items, isOver } = log.transcript.value;
  const [isFollowing, setFollowing] = useState(false);
  useKeys({ ".": () => setFollowing(!isFollowing) });
  useEffect(() => {
    if (!isFollowing || isOver) return;
    scrollTo({ top: document.documentElement.scrollHeight });
  }, [items, isFollowing]);
  useEffect(() => {
    const stop = () => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      if (scrollHeight - scrollTop - clientHeight > NEAR_END_PX) setFollowing(false);
    };
    addEventListener("wheel", stop, { passive: true });
    return () => removeEventListener("wheel", stop);
  }, []);
  const hasItems = items.length > 0;
  useEffect(() => {
    if (/^#e\d+$/.test(location.hash)) document.querySelector(location.hash)?.scrollIntoView();
  }, [hasItems]);
  const isConnected = lostSince.value === undefined;
  const attempts = items.filter(({ kind }) => kind === "attempt").length;
  return (
    <div class="transcript">
      <ProblemBox error={log.error.value} />
      {items.map((item) =>
        item.kind === "attempt" && attempts < 2 ? null : (
          <ItemView key={`${item.kind}${item.seq}`} item={item} openFile={openFile} />
        ),
      )}
      {!isOver && (
        <div class="row live">
          {isConnected && <span class="pulse" aria-hidden="true" />}
          <span class="fine">{isConnected ? "Live" : "Not connected"}</span>
          <button class="button small is-quiet" aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
            {isFollowing ? "Stop following" : "Follow the end"}
          </button>
        </div>
      )}
    </div>
  );
}

/** Renders an item again only if it has changed. */
function ItemView({ item, openFile }: { item: Item; openFile: (asset: string) => void }) {
  return useMemo(() => renderItem(item, openFile), [item]);
}

function renderItem(item: Item, openFile: (asset: string) => void) {
  switch (item.kind) {
    case "turn":
      return <TurnView turn={item} />;
    case "note":
      return (
        <p class={`note is-${item.tone}`} id={`e${item.seq}`} title={dateTime(item.at)}>
          {item.tone === "warning" && <Icon name="warning" />}
          {item.text}
        </p>
      );
    case "attempt":
      return (
        <div class="divider" id={`e${item.seq}`}>
          Attempt {item.number} · {dateTime(item.at)}
        </div>
      );
    case "file": {
      const { kind, asset } = item.output;
      return (
        <button class="file-chip" id={`e${item.seq}`} onClick={() => openFile(asset.id)}>
          <Icon name={kind} />
          {asset.name}
          <span class="fine">{bytes(asset.size)}</span>
        </button>
      );
    }
    case "end":
      return <EndView end={item} />;
  }
}

function TurnView({ turn }: { turn: Turn }) {
  return (
    <section class="turn" id={`e${turn.seq}`}>
      {turn.reasoning && (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={turn.reasoning} />
        </details>
      )}
      {turn.text && <Markdown text={turn.text} />}
      {turn.calls.map((call) => (
        <CallView key={call.id} call={call} />
      ))}
    </section>
  );
}

function EndView({ end: { seq, at, job } }: { end: End }) {
  const took = job.duration_ms === null ? "" : ` after ${duration(job.duration_ms)}`;
  const isEarly = job.stop_reason !== null && job.stop_reason !== "end_turn";
  return (
    <div id={`e${seq}`}>
      {job.error && (
        <div class="problem" role="alert">
          <Icon name="warning" />
          <div>
            <p class="lines">{job.error.message}</p>
            <p class="fine">
              <code>{job.error.code}</code> ·{" "}
              {job.error.retryable ? "A retry may succeed." : "A retry would fail in the same way."}
            </p>
          </div>
        </div>
      )}
      {job.warnings.map((warning) => (
        <p class="note is-warning" key={warning}>
          <Icon name="warning" />
          {warning}
        </p>
      ))}
      <p class={`end is-${job.status}`} title={dateTime(at)}>
        {job.status[0]?.toUpperCase() + job.status.slice(1)}
        {took}
        {isEarly && ` · stopped by: ${words(job.stop_reason ?? "")}`}
      </p>
    </div>
  );
}
