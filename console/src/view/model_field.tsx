/** The field for a model or a list of models. */

import { useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { modelNames } from "../format.js";
import { useResource } from "../resource.js";
import { TextField } from "../ui/fields.js";

type ModelChoice = NonNullable<Schemas["CreateJob"]["model"]>;

interface ModelFieldProps {
  value: ModelChoice;
  set: (model: ModelChoice) => void;
  error: string | undefined;
}

/** Parses models separated by commas. A single model becomes a string. */
function parseModels(text: string): ModelChoice {
  const names = text.split(",").map((name) => name.trim());
  const given = names.filter((name) => name);
  return given.length > 1 ? given : (given[0] ?? "");
}

export function ModelField({ value, set, error }: ModelFieldProps) {
  const [text, setText] = useState(modelNames(value) ?? "");
  const load = () => call(api.GET("/v1/models", { params: { query: { limit: 100 } } }));
  const models = useResource("models", load).data.value?.data ?? [];
  const hint = (
    <>
      The model <code>script/bash</code> runs the commands in the prompt and needs no key. Separate fallback models with
      commas.
    </>
  );
  return (
    <>
      <TextField
        label="Model"
        error={error}
        hint={hint}
        list="models"
        placeholder={models.find((it) => it.default)?.name ?? "default of the service"}
        value={text}
        set={(next) => {
          setText(next);
          set(parseModels(next));
        }}
      />
      <datalist id="models">
        {models
          .filter(({ available }) => available)
          .map(({ name }) => (
            <option key={name} value={name} />
          ))}
      </datalist>
    </>
  );
}
