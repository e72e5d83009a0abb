/** Components that pages share: header, layout, empty state, facts and form fields. */

import { cloneElement, type ComponentChildren, isValidElement } from "preact";
import { useEffect, useId } from "preact/hooks";
import { ago, dateTime } from "../format.js";
import { Icon, type IconName } from "./icon.js";

/** The parent page. */
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

/** Content with details beside it, or below it on a narrow screen. */
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

/** A link or a button that creates something. */
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

/** A past time, such as `5 m ago`. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="none">–</span>;
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at)}
    </time>
  );
}

/** A list of names and values. Entries without a value are omitted. */
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

/** A choice between views of the same data. Each view has its own address. */
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

/** A control with its label, and its error or hint. */
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
