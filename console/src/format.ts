/** Formatting of numbers, sizes and times. */

import { signal } from "@preact/signals";

/** The current time, updated every second while the page is visible. */
export const now = signal(Date.now());
setInterval(() => void (document.hidden || (now.value = Date.now())), 1000);

/** Formats a duration in at most two units: `840 ms`, `12 s`, `3 m 20 s`, `5 h 2 m`, `3 d`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const seconds = Math.floor(ms / 1000);
  const [d, h, m, s] = [seconds / 86400, (seconds / 3600) % 24, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  if (d) return h ? `${d} d ${h} h` : `${d} d`;
  if (h) return m ? `${h} h ${m} m` : `${h} h`;
  return s ? `${m} m ${s} s` : `${m} m`;
}

/** Formats a past time: `now`, `12 s ago`, `5 m ago`, `3 h ago`, or the date. */
export function ago(at: string): string {
  const seconds = Math.max(0, (now.value - Date.parse(at)) / 1000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(at).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

/** Formats the time until an instant: `in 4 m`, or `now`. */
export function until(at: string): string {
  const ms = Date.parse(at) - now.value;
  return ms <= 0 ? "now" : `in ${duration(ms - (ms > 60_000 ? ms % 60_000 : ms % 1000))}`;
}

export function dateTime(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function bytes(size: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000;
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en-US");
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 100_000 ? 1 : 0)} k`;
  return `${(value / 1_000_000).toFixed(1)} M`;
}

export function usd(value: number): string {
  return value > 0 && value < 0.01 ? "< $0.01" : `$${value.toFixed(2)}`;
}

/** Formats a number with its noun: `1 job`, `3 jobs`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Formats a name of the API as words: `repeated_call` becomes `repeated call`. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** Returns the names of one or several models, separated by commas. */
export function modelNames(model: string | string[] | null | undefined): string | undefined {
  return model ? [model].flat().join(", ") : undefined;
}
