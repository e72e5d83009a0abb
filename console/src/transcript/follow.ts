/** The live log of a job. Events are applied once per frame, and only while the page is visible. */

import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { JobEvent } from "../../../clients/typescript/src/types.js";
import { client } from "../api.js";
import { fold } from "./fold.js";
import { EMPTY, type Transcript } from "./state.js";

export interface Log {
  transcript: Signal<Transcript>;
  /** The stored events, for the view of the raw log. */
  events: Signal<JobEvent[]>;
  error: Signal<unknown>;
  isFollowing: Signal<boolean>;
}

/** The delay of the fallback timer. Background pages have timers but no animation frames. */
const FALLBACK_MS = 250;
/** The delta event types. Deltas are not stored, so the raw log excludes them. */
const LIVE = ["message.delta", "reasoning.delta", "tool.output"];

export function useLog(job: string): Log {
  const log = useMemo(newLog, [job]);
  useEffect(() => {
    let stop = startFollowing(job, log);
    const onVisibility = () => {
      stop();
      if (!document.hidden) stop = startFollowing(job, log);
    };
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      stop();
    };
  }, [job]);
  return log;
}

function newLog(): Log {
  return { transcript: signal(EMPTY), events: signal([]), error: signal(), isFollowing: signal(true) };
}

function startFollowing(job: string, log: Log): () => void {
  if (log.transcript.value.isOver) return () => {};
  const controller = new AbortController();
  let queue: JobEvent[] = [];
  let timer = 0;
  let frame = 0;
  const apply = () => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    timer = frame = 0;
    const batch = queue;
    queue = [];
    const stored = batch.filter(({ type }) => !LIVE.includes(type as string));
    if (stored.length) log.events.value = [...log.events.value, ...stored];
    log.transcript.value = batch.reduce(fold, log.transcript.value);
  };
  const take = (event: JobEvent) => {
    queue.push(event);
    if (frame) return;
    frame = requestAnimationFrame(apply);
    timer = window.setTimeout(apply, FALLBACK_MS);
  };
  void follow(job, log, take, controller.signal);
  return () => {
    controller.abort();
    if (queue.length) apply();
  };
}

async function follow(job: string, log: Log, take: (event: JobEvent) => void, signal: AbortSignal): Promise<void> {
  try {
    log.error.value = undefined;
    const after = log.transcript.value.lastSeq;
    for await (const event of client.follow(job, { after, signal })) take(event);
  } catch (error) {
    if (!signal.aborted) log.error.value = error;
  } finally {
    if (!signal.aborted) log.isFollowing.value = false;
  }
}
