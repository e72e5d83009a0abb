/** Keyboard shortcuts without a modifier, global and for the current view. They are disabled in text fields. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export type Keys = Record<string, () => void>;

const DISABLED = "single-keys-off";
/** The maximum time between `g` and the next key. */
const SEQUENCE_MS = 1200;

export const isHelpOpen = signal(false);
export const areKeysOn = signal(localStorage.getItem(DISABLED) === null);
const maps: { current: Keys }[] = [];

export function setKeysOn(isOn: boolean): void {
  if (isOn) localStorage.removeItem(DISABLED);
  else localStorage.setItem(DISABLED, "1");
  areKeysOn.value = isOn;
}

/** Registers the shortcuts of a view while it is shown. */
export function useKeys(keys: Keys): void {
  const map = useRef(keys);
  map.current = keys;
  useEffect(() => {
    maps.push(map);
    return () => void maps.splice(maps.indexOf(map), 1);
  }, []);
}

let prefix = "";
let prefixAt = 0;

export function listen(): void {
  document.addEventListener("keydown", (event) => {
    if (!areKeysOn.value || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const isSequence = prefix !== "" && Date.now() - prefixAt < SEQUENCE_MS;
    const key = isSequence ? `${prefix} ${event.key}` : event.key;
    prefix = "";
    const action = maps.map((map) => map.current[key]).findLast((it) => it !== undefined);
    if (action) {
      event.preventDefault();
      action();
    } else if (event.key === "g") {
      prefix = "g";
      prefixAt = Date.now();
    }
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
}
