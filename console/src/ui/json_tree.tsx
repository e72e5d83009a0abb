/** JSON as a collapsible tree. */

/** The number of levels that are initially open. */
const OPEN_LEVELS = 2;
const MAX_ENTRIES = 200;

export function JsonTree({ value, name, level = 0 }: { value: unknown; name?: string; level?: number }) {
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div class="json">
        {label}
        <span class={`json-${value === null ? "null" : typeof value}`}>{JSON.stringify(value)}</span>
      </div>
    );
  }
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details class="json" open={level < OPEN_LEVELS}>
      <summary>
        {label}
        <span class="fine">{size}</span>
      </summary>
      {entries.slice(0, MAX_ENTRIES).map(([key, child]) => (
        <JsonTree key={key} name={key} value={child} level={level + 1} />
      ))}
      {entries.length > MAX_ENTRIES && <span class="fine">{entries.length - MAX_ENTRIES} more</span>}
    </details>
  );
}

/** A value next to its name: text unchanged, a list of texts with commas, and anything else as a tree. */
export function Value({ value }: { value: unknown }) {
  const texts = Array.isArray(value) ? value : [value];
  if (texts.some((it) => typeof it === "object" && it !== null)) return <JsonTree value={value} />;
  return <span class="lines">{texts.map(String).join(", ")}</span>;
}
