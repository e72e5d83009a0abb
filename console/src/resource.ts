/** Data of the service that views show: kept for the way back, and loaded again when it may have changed. */

import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Milestone, onMilestone } from "./feed.js";

export interface Resource<T> {
  data: Signal<T | undefined>;
  error: Signal<unknown>;
  reload: () => Promise<void>;
}

/** When data may have changed. Without either it is loaded once. */
export interface Changes {
  /** Which milestones change it. */
  on?: (event: Milestone) => boolean;
  /** The interval for what milestones do not tell. */
  everyMs?: number;
}

/** Resources whose data is kept. The oldest are dropped first. */
const MAX_KEPT = 60;
/** The shortest time between two loads, however much happens. */
const MIN_PAUSE_MS = 1000;
/** Milestones often come together. */
const SETTLE_MS = 80;
const kept = new Map<string, Resource<unknown>>();

export function forgetAll(): void {
  kept.clear();
}

/** The data of that key. The key must hold everything that `load` depends on. */
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

/** Loads now, and again after changes while the page is visible. Returns how to stop. */
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
    // One after the other, so that an old answer is not the last.
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
