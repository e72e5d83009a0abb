/** The input of a tool call: each field as text, and a file edit as a diff. */

import { words } from "../format.js";
import { Highlighted, languageOf } from "../ui/code.js";
import { Diff } from "../ui/diff.js";
import { JsonTree, Value } from "../ui/json_tree.js";

/** The maximum number of characters of a short field. */
const MAX_SHORT = 60;

type Fields = Record<string, unknown>;

export function ToolInput({ input }: { input: unknown }) {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return <JsonTree value={input} />;
  }
  const { old_string: before, new_string: after, ...rest } = input as Fields;
  const isEdit = typeof before === "string" && typeof after === "string";
  const entries = Object.entries(isEdit ? rest : input);
  if (entries.length === 0) return <p class="fine">No input.</p>;
  return (
    <>
      {entries.map(([name, value]) => (
        <div class={isShort(name, value) ? "input is-short" : "input"} key={name}>
          <span class="label">{words(name)}</span>
          {typeof value === "object" ? (
            <Value value={value} />
          ) : (
            <pre tabIndex={0}>
              <Highlighted text={String(value)} language={languageIn(input as Fields, name)} />
            </pre>
          )}
        </div>
      ))}
      {isEdit && <Diff before={before} after={after} />}
    </>
  );
}

/** Whether a field fits on one line with its name. Commands get their own block because people approve them. */
function isShort(name: string, value: unknown): boolean {
  if (typeof value !== "string") return typeof value !== "object";
  return name !== "command" && value.length <= MAX_SHORT && !value.includes("\n");
}

/** Returns the language of a field: `bash` for commands, and the file extension for file content. */
function languageIn(input: Fields, name: string): string {
  if (name === "command") return "bash";
  return name === "content" && typeof input["path"] === "string" ? languageOf(input["path"]) : "";
}
