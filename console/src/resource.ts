/** Cached data of the service. Views show it immediately and reload it when it may have changed. */

import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Milestone, onMilestone } from "./feed.js";

export interface Resource<T> {
  data: Signal<T | undefined>;
  error: Signal<unknown>;
  reload: () => Promise<void>;
}

/** The triggers of a reload. Without any, data is loaded once. */
export interface Changes {
  /** Whether a milestone may change the data. */
  on?: (event: Milestone) => boolean;
  /** The polling interval, for changes without a milestone. */
  everyMs?: number;
}

/** The maximum number of cached resources. The oldest are dropped first. */
const MAX_KEPT = 60;
/** The minimum time between two loads. */
const MIN_PAUSE_MS = 1000;
/** The delay of a reload after a milestone. Milestones often arrive in groups. */
const SETTLE_MS = 80;
const kept = new Map<string, Resource<unknown>>();

export function forgetAll(): void {
  kept.clear();
}

/** Returns the resource of a key. The key must include everything that `load` depends on. */
export function useResource<T>(key: string, load: () => Promise<T>, changes: Changes = {}): Resource<T> {
  const resource = resourceOf<T>(key);
  resource.reload = () => refresh(resource, load);
  useEffect(() => keepFresh(() => resource.reload(), changes), [key]);
  return resource;
}

function resourceOf<T>(key: string): Resource<T> {
  let resource = kept.get(key) as Resource<T> | undefined;
  if (!resource) {
    resource = { data: signal<T>(), error: signal<unknown>(), reload: async () => {} };
    kept.set(key, resource as Resource<unknown>);
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  }
  return resource;
}

async function refresh<T>(resource: Resource<T>, load: () => Promise<T>): Promise<void> {
  try {
    resource.data.value = await load();
    resource.error.value = undefined;
  } catch (error) {
    resource.error.value = error;
  }
}

/** Loads now, and reloads after changes while the page is visible. Returns a function that stops it. */
export function keepFresh(load: () => Promise<void>, { on, everyMs }: Changes): () => void {
  let timer = 0;
  let dueAt = Infinity;
  let lastAt = 0;
  let isStopped = false;
  let loading = Promise.resolve();
  const plan = (ms: number) => {
    const at = Math.max(Date.now() + ms, lastAt + MIN_PAUSE_MS);
    if (isStopped || document.hidden || at >= dueAt) return;
    clearTimeout(timer);
    dueAt = at;
    timer = window.setTimeout(step, at - Date.now());
  };
  const step = async () => {
    dueAt = Infinity;
    lastAt = Date.now();
    // Loads are sequential, so that an old response cannot replace a newer one.
    loading = loading.then(load);
    await loading;
    if (everyMs !== undefined) plan(everyMs);
  };
  const stopListening = on && onMilestone((event) => void ((event && !on(event)) || plan(SETTLE_MS)));
  const wake = () => void (on || everyMs !== undefined ? plan(0) : undefined);
  document.addEventListener("visibilitychange", wake);
  void step();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    stopListening?.();
    document.removeEventListener("visibilitychange", wake);
  };
}
