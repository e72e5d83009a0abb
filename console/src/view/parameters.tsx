/** The form for the parameters of a skill: flat objects of texts, numbers, choices, switches and lists of texts. */

import { JsonField } from "../ui/fields.js";
import { Field } from "../ui/page.js";
import type { ErrorAt } from "../ui/problem.js";

export interface Property {
  type?: string;
  enum?: unknown[];
  default?: unknown;
  description?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
  items?: { type?: string };
}
export type Values = Record<string, unknown>;

const KNOWN = ["string", "integer", "number", "boolean"];

/** Returns the properties of a schema, or undefined if the form does not support one of them. */
export function propertiesOf(schema: Record<string, unknown>): [string, Property][] | undefined {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Property>);
  const isFlat = ({ type = "", items }: Property) =>
    KNOWN.includes(type) || (type === "array" && items?.type === "string");
  return properties.every(([, property]) => isFlat(property)) ? properties : undefined;
}

interface ParameterFormProps {
  schema: Record<string, unknown>;
  values: Values;
  set: (values: Values) => void;
  errorAt: ErrorAt;
}

export function ParameterForm({ schema, values, set, errorAt }: ParameterFormProps) {
  const properties = propertiesOf(schema);
  if (properties === undefined) {
    return (
      <JsonField
        label="Parameters as JSON"
        rows={8}
        value={values}
        set={(value) => set((value ?? {}) as Values)}
        error={errorAt("/parameters")}
      />
    );
  }
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return (
    <>
      {properties.map(([name, property]) => {
        const change = (value: unknown) => {
          const { [name]: _, ...rest } = values;
          set(value === undefined ? rest : { ...rest, [name]: value });
        };
        const label = required.includes(name) ? name : `${name} (optional)`;
        return (
          <Field key={name} label={label} hint={property.description} error={errorAt(`/parameters/${name}`)}>
            <Control
              name={name}
              property={property}
              value={values[name]}
              change={change}
              isRequired={required.includes(name)}
            />
          </Field>
        );
      })}
    </>
  );
}

interface ControlProps {
  name: string;
  property: Property;
  value: unknown;
  change: (value: unknown) => void;
  isRequired: boolean;
}

function Control({ name, property, value, change, isRequired }: ControlProps) {
  const fallback = property.default === undefined ? "" : String(property.default);
  if (property.type === "boolean" || property.enum) {
    const choices = property.enum ?? [true, false];
    return (
      <select
        class="control"
        name={name}
        required={isRequired}
        value={value === undefined ? "" : JSON.stringify(value)}
        onChange={({ currentTarget }) =>
          change(currentTarget.value === "" ? undefined : JSON.parse(currentTarget.value))
        }
      >
        <option value="">{fallback === "" ? "–" : `${fallback} (default)`}</option>
        {choices.map((choice) => (
          <option key={String(choice)} value={JSON.stringify(choice)}>
            {String(choice)}
          </option>
        ))}
      </select>
    );
  }
  if (property.type === "array") {
    const lines = Array.isArray(value) ? value.join("\n") : "";
    const split = (text: string) => (text === "" ? undefined : text.split("\n"));
    return (
      <textarea
        class="control"
        name={name}
        rows={2}
        placeholder="One per line"
        value={lines}
        onInput={({ currentTarget }) => change(split(currentTarget.value))}
      />
    );
  }
  const isNumber = property.type !== "string";
  const parse = (text: string) => (text === "" ? undefined : isNumber ? Number(text) : text);
  return (
    <input
      class="control"
      name={name}
      {...(isNumber ? { type: "number" } : {})}
      step={property.type === "integer" ? 1 : "any"}
      min={property.minimum}
      max={property.maximum}
      maxLength={property.maxLength}
      placeholder={fallback}
      required={isRequired}
      value={value === undefined ? "" : String(value)}
      onInput={({ currentTarget }) => change(parse(currentTarget.value))}
    />
  );
}
