/** What each page has: a title, actions, and what to show when there is nothing. */

import { cloneElement, type ComponentChildren, isValidElement } from "preact";
import { useEffect, useId } from "preact/hooks";
import { ago, dateTime } from "../format.js";
import { Icon, type IconName } from "./icon.js";

/** The page above another. */
export interface Above {
  title: string;
  href: string;
}

interface PageProps {
  title: string;
  above?: Above;
  heading?: ComponentChildren;
  about?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, above, heading, about, actions, children }: PageProps) {
  useEffect(() => void (document.title = `${title} · Skillet`), [title]);
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-title">
          {above && (
            <a class="crumb" href={above.href}>
              {above.title}
              <Icon name="chevron" />
            </a>
          )}
          <h1>{heading ?? title}</h1>
          {about && <p class="about">{about}</p>}
        </div>
        {actions && <div class="row page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface SplitProps {
  label?: string;
  aside: ComponentChildren;
  children: ComponentChildren;
}

/** Something with its details beside it, or below it on a narrow screen. */
export function Split({ label = "Details", aside, children }: SplitProps) {
  return (
    <div class="split">
      <div class="stack">{children}</div>
      <aside class="side" aria-label={label}>
        {aside}
      </aside>
    </div>
  );
}

/** A link or a button to make something new. */
export function NewButton({ title, href, onClick }: { title: string; href?: string; onClick?: () => void }) {
  const content = (
    <>
      <Icon name="plus" />
      {title}
    </>
  );
  return href ? (
    <a class="button is-accent" href={href}>
      {content}
    </a>
  ) : (
    <button class="button is-accent" {...(onClick ? { onClick } : {})}>
      {content}
    </button>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  children: ComponentChildren;
}

export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** How long ago it was. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="none">–</span>;
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at)}
    </time>
  );
}

/** Names with their values. Those without a value are left out. */
export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export type Choice = [title: string, href: string, isHere: boolean];

/** A choice between a few views of the same, each with an address. */
export function Segments({ label, choices }: { label: string; choices: Choice[] }) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(([title, href, isHere]) => (
        <a key={href} href={href} aria-current={isHere ? "true" : undefined}>
          {title}
        </a>
      ))}
    </div>
  );
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  children: ComponentChildren;
}

/** A control with its name, and what is wrong with it. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const control = isValidElement(children)
    ? cloneElement(children, { "aria-describedby": id, "aria-invalid": error ? "true" : undefined })
    : children;
  return (
    <div class={error ? "field is-wrong" : "field"}>
      <label>
        <span class="label">{label}</span>
        {control}
      </label>
      <span id={id} class={error ? "field-error" : "hint"}>
        {error ?? hint}
      </span>
    </div>
  );
}
