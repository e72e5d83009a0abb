/** The fields of a JSON Schema as a table. */

import { CodeBlock } from "./code.js";
import { Table } from "./table.js";

interface Property {
  type?: unknown;
  enum?: unknown[];
  default?: unknown;
  description?: string;
  items?: { type?: unknown };
}

export function SchemaTable({ schema }: { schema: Record<string, unknown> }) {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Property>);
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const source = (
    <details>
      <summary class="fine">JSON Schema</summary>
      <CodeBlock text={JSON.stringify(schema, null, 2)} language="json" />
    </details>
  );
  if (properties.length === 0) return schema["type"] === "object" ? <p class="fine">None.</p> : source;
  return (
    <>
      <Table
        rows={properties}
        keyOf={([name]) => name}
        columns={[
          { name: "Name", cell: ([name]) => <code>{name}</code> },
          { name: "Type", cell: ([, it]) => typeOf(it) },
          { name: "Required", cell: ([name]) => (required.includes(name) ? "yes" : "no"), isOptional: true },
          { name: "Description", cell: ([, it]) => it.description, isWrapping: true },
        ]}
      />
      {source}
    </>
  );
}

/** Returns the type, such as `array of string`, or the allowed values. */
function typeOf({ type, enum: values, items }: Property): string {
  if (values) return values.map(String).join(" | ");
  const name = [type ?? "any"].flat().join(" | ");
  return items?.type ? `${name} of ${[items.type].flat().join(" | ")}` : name;
}
