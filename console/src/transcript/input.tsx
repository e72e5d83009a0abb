/** The input of a tool call: each field as text, and an edit of a file as its difference. */

import { words } from "../format.js";
import { Diff } from "../ui/diff.js";

export function ToolInput({ input }: { input: unknown }) {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return <pre class="input">{JSON.stringify(input, null, 2)}</pre>;
  }
  const { old_string: before, new_string: after, ...rest } = input as Record<string, unknown>;
  const isEdit = typeof before === "string" && typeof after === "string";
  const entries = Object.entries(isEdit ? rest : input);
  if (entries.length === 0) return <p class="fine">No input.</p>;
  return (
    <>
      {entries.map(([name, value]) => (
        <div class="input" key={name}>
          <span class="label">{words(name)}</span>
          <pre tabIndex={0}>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
        </div>
      ))}
      {isEdit && <Diff before={before} after={after} />}
    </>
  );
}
