/**
 * The milestones of the tenant, for the views that show them.
 *
 * A browser opens only six connections to a service that speaks HTTP/1.1. So of all visible tabs one reads the stream,
 * and passes it on to the others. It is the tab that holds a lock, which it gives back when it is hidden. Browsers have
 * such locks only with https and for localhost; elsewhere each visible tab reads the stream itself.
 */

import { effect } from "@preact/signals";
import { ApiError, client, lostSince, type Schemas } from "./api.js";

export type Milestone = Schemas["FeedEvent"];
/** Receives a milestone, or undefined if anything may have changed. */
type Listener = (event: Milestone | undefined) => void;

/** What a tab tells the others. */
type Message =
  /** A place in the stream with its milestone. What was shown before a fresh start may be out of date. */
  | { cursor: string; event: Milestone | undefined; isFresh: boolean }
  /** Since when the service does not answer; undefined if it does. */
  | { lostSince: number | undefined };

const listeners = new Set<Listener>();
let cursor: string | undefined;

/** Calls the listener with each milestone. Returns how to stop. */
export function onMilestone(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Reads the stream of a tenant, or what another tab reads of it. Returns how to stop. */
export function startFeed(tenant: string): () => void {
  const name = `skillet-feed-${tenant}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => apply(data as Message);
  const isShared = "locks" in navigator;
  const publish = (message: Message) => {
    apply(message);
    if (isShared) channel.postMessage(message);
  };
  let visit = new AbortController();
  const read = async () => {
    const stopTelling = isShared ? effect(() => channel.postMessage({ lostSince: lostSince.value })) : () => {};
    await readStream(publish, visit.signal);
    stopTelling();
  };
  const begin = () => {
    visit.abort();
    if (document.hidden) return;
    visit = new AbortController();
    // A tab that is hidden while it waits for the lock waits no longer.
    if (isShared) navigator.locks.request(name, { signal: visit.signal }, read).catch(() => {});
    else void read();
  };
  document.addEventListener("visibilitychange", begin);
  begin();
  return () => {
    document.removeEventListener("visibilitychange", begin);
    visit.abort();
    channel.close();
    cursor = undefined;
  };
}

/** Reads on from the last place until the signal. The client makes lost connections again. */
async function readStream(publish: (message: Message) => void, signal: AbortSignal): Promise<void> {
  for (;;) {
    let isFresh = cursor === undefined;
    try {
      const from = cursor === undefined ? {} : { after: cursor };
      for await (const { cursor: at, event } of client.events({ ...from, signal })) {
        publish({ cursor: at, event, isFresh });
        isFresh = false;
      }
    } catch (error) {
      const isTooOld = error instanceof ApiError && error.status === 410;
      if (signal.aborted || !isTooOld) return;
      cursor = undefined;
    }
  }
}

function apply(message: Message): void {
  if ("lostSince" in message) {
    lostSince.value = message.lostSince;
    return;
  }
  cursor = message.cursor;
  if (message.event || message.isFresh) for (const listener of listeners) listener(message.event);
}
