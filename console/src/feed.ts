/**
 * The live milestones of the tenant, shared by all tabs.
 *
 * A browser opens at most six HTTP/1.1 connections to a service. Therefore only one visible tab reads the stream and
 * sends the events to the other tabs. The reading tab holds a lock and releases it when it is hidden. Browsers support
 * such locks only with https and on localhost. Without locks, each visible tab reads the stream itself.
 */

import { effect } from "@preact/signals";
import { ApiError, client, lostSince, type Schemas } from "./api.js";

export type Milestone = Schemas["FeedEvent"];
/** Receives a milestone, or undefined if any data may have changed. */
type Listener = (event: Milestone | undefined) => void;

/** A message from the tab that reads the stream to the other tabs. */
type Message =
  /** A position in the stream with its milestone. After a fresh start, data shown before may be out of date. */
  | { cursor: string; event: Milestone | undefined; isFresh: boolean }
  /** The time at which the service stopped responding; undefined while it responds. */
  | { lostSince: number | undefined };

const listeners = new Set<Listener>();
let cursor: string | undefined;

/** Calls the listener with each milestone. Returns a function that removes the listener. */
export function onMilestone(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Reads the stream of a tenant, or receives it from another tab. Returns a function that stops it. */
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
    // A tab that is hidden while it waits for the lock stops waiting.
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

/** Reads the stream after the last position until the signal. The client reconnects lost connections. */
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
