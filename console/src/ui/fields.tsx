/** Form fields for text, lists, numbers, JSON and times. */

import type { ComponentChildren, ComponentProps } from "preact";
import { useState } from "preact/hooks";
import { Field } from "./page.js";

interface FieldOptions {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
}

interface TextFieldProps extends FieldOptions {
  value: string;
  set: (value: string) => void;
  type?: "password" | "url" | "number" | "datetime-local";
  class?: string;
  list?: string;
  placeholder?: string;
  autocomplete?: "off" | "current-password";
  min?: number;
  step?: number | "any";
  required?: boolean;
}

export function TextField({ label, hint, error, set, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <input
        class="control"
        {...(input as ComponentProps<"input">)}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
    </Field>
  );
}

interface LongTextFieldProps extends FieldOptions {
  value: string;
  set: (value: string) => void;
  class?: string;
  rows?: number;
  placeholder?: string;
  spellcheck?: boolean;
  required?: boolean;
}

/** A field for text of several lines. */
export function LongTextField({ label, hint, error, set, ...area }: LongTextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <textarea class="control" rows={7} {...area} onInput={({ currentTarget }) => set(currentTarget.value)} />
    </Field>
  );
}

interface ListFieldProps extends FieldOptions {
  value: string[] | null | undefined;
  placeholder?: string;
  /** Whether line breaks separate the texts, instead of commas. */
  isLines?: boolean;
  set: (value: string[]) => void;
}

/** A field for a list of texts. */
export function ListField({ value, isLines = false, placeholder = "", set, ...options }: ListFieldProps) {
  const [text, setText] = useState(() => (value ?? []).join(isLines ? "\n" : ", "));
  const change = (next: string) => {
    setText(next);
    const texts = next.split(isLines ? "\n" : ",").map((it) => it.trim());
    set(texts.filter(Boolean));
  };
  const props = { ...options, placeholder, value: text, set: change };
  return isLines ? <LongTextField {...props} class="control is-code" rows={2} /> : <TextField {...props} />;
}

interface NumberFieldProps extends FieldOptions {
  value: number | null | undefined;
  step?: number | "any";
  placeholder?: string;
  set: (value: number | null) => void;
}

export function NumberField({ value, step = 1, set, ...options }: NumberFieldProps) {
  const change = (text: string) => set(text === "" ? null : Number(text));
  return <TextField {...options} type="number" step={step} value={String(value ?? "")} set={change} />;
}

interface JsonFieldProps extends FieldOptions {
  rows?: number;
  value: unknown;
  set: (value: unknown) => void;
}

/** A field for a JSON value. Invalid JSON is reported immediately and does not change the value. */
export function JsonField({ label, hint, error, rows = 3, value, set }: JsonFieldProps) {
  const [text, setText] = useState(() => (isNothing(value) ? "" : JSON.stringify(value, null, 2)));
  const [mistake, setMistake] = useState<string>();
  const change = (next: string) => {
    setText(next);
    try {
      set(next.trim() === "" ? null : JSON.parse(next));
      setMistake(undefined);
    } catch (failure) {
      setMistake(`Invalid JSON: ${failure instanceof Error ? failure.message : String(failure)}`);
    }
  };
  return (
    <LongTextField
      label={label}
      hint={hint}
      error={mistake ?? error}
      class="control is-code"
      rows={rows}
      spellcheck={false}
      value={text}
      set={change}
    />
  );
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

/** Converts an instant to the local time of a field. `fromLocal` converts it back. */
export function toLocal(at: string | null | undefined): string {
  if (!at) return "";
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function fromLocal(text: string): string | null {
  return text === "" ? null : new Date(text).toISOString();
}
