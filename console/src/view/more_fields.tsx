/** The fields of a job that most jobs do not need. */

import type { Schemas } from "../api.js";
import { fromLocal, JsonField, ListField, NumberField, TextField, toLocal } from "../ui/fields.js";
import type { ErrorAt } from "../ui/problem.js";

type CreateJob = Schemas["CreateJob"];
type Limit = "timeout_seconds" | "max_cost_usd" | "max_total_tokens";

interface MoreFieldsProps {
  job: CreateJob;
  change: (changes: Partial<CreateJob>) => void;
  errorAt: ErrorAt;
  startsNow: boolean;
}

export function MoreFields({ job, change, errorAt, startsNow }: MoreFieldsProps) {
  const isOpen = ["/limits", "/title", "/hooks", "/metadata", "/output_schema", "/run_at"].some(errorAt);
  const limit = (name: Limit, label: string, step: number | "any" = 1) => (
    <NumberField
      label={label}
      error={errorAt(`/limits/${name}`)}
      value={job.limits?.[name]}
      step={step}
      set={(value) => change({ limits: { ...job.limits, [name]: value } })}
    />
  );
  return (
    <details class="more" open={isOpen}>
      <summary>Title, limits, approvals, result and more</summary>
      <div class="stack">
        <TextField
          label="Title"
          error={errorAt("/title")}
          hint="If empty, the first line of the prompt."
          value={job.title ?? ""}
          set={(title) => change({ title: title || null })}
        />
        <ListField
          label="Tools that need approval"
          error={errorAt("/hooks")}
          hint="Names separated by commas, such as shell.exec. Each call waits for approval."
          value={job.hooks?.confirm}
          set={(confirm) => change({ hooks: { ...job.hooks, confirm } })}
        />
        <div class="two">
          {limit("timeout_seconds", "Time limit in seconds")}
          {limit("max_cost_usd", "Cost limit in dollars", "any")}
          {limit("max_total_tokens", "Token limit")}
          <NumberField
            label="Priority"
            error={errorAt("/priority")}
            value={job.priority}
            set={(priority) => change({ priority: priority ?? 0 })}
          />
        </div>
        {startsNow && (
          <TextField
            label="Start at"
            error={errorAt("/run_at")}
            hint="Local time. If empty, now."
            type="datetime-local"
            value={toLocal(job.run_at)}
            set={(text) => change({ run_at: fromLocal(text) })}
          />
        )}
        <JsonField
          label="Result schema"
          hint="A JSON Schema. The job returns data that matches it."
          error={errorAt("/output_schema")}
          value={job.output_schema}
          set={(value) => change({ output_schema: value as Record<string, never> | null })}
        />
        <JsonField
          label="Metadata"
          hint="A JSON object. Job lists can be filtered by it."
          error={errorAt("/metadata")}
          value={job.metadata}
          set={(value) => change({ metadata: (value ?? {}) as Record<string, never> })}
        />
      </div>
    </details>
  );
}
