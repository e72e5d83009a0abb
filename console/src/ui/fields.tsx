/** Fields of numbers, JSON and instants. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Field } from "./page.js";

interface NumberFieldProps {
  label: string;
  error: string | undefined;
  value: number | null | undefined;
  step?: number | "any";
  set: (value: number | null) => void;
}

export function NumberField({ label, error, value, step = 1, set }: NumberFieldProps) {
  return (
    <Field label={label} error={error}>
      <input
        class="control"
        type="number"
        step={step}
        value={value ?? ""}
        onInput={({ currentTarget: { value: text } }) => set(text === "" ? null : Number(text))}
      />
    </Field>
  );
}

interface JsonFieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  rows?: number;
  value: unknown;
  set: (value: unknown) => void;
}

/** A value as JSON. What is not JSON is said at once, and is not taken. */
export function JsonField({ label, hint, error, rows = 3, value, set }: JsonFieldProps) {
  const [text, setText] = useState(() => (isNothing(value) ? "" : JSON.stringify(value, null, 2)));
  const [mistake, setMistake] = useState<string>();
  const change = (next: string) => {
    setText(next);
    try {
      set(next.trim() === "" ? null : JSON.parse(next));
      setMistake(undefined);
    } catch (failure) {
      setMistake(`This is not JSON: ${failure instanceof Error ? failure.message : String(failure)}`);
    }
  };
  return (
    <Field label={label} hint={hint} error={mistake ?? error}>
      <textarea
        class="control is-code"
        rows={rows}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </Field>
  );
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

/** An instant as the local time of a field, and back. */
export function toLocal(at: string | null | undefined): string {
  if (!at) return "";
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function fromLocal(text: string): string | null {
  return text === "" ? null : new Date(text).toISOString();
}
