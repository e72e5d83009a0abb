/** The fields of a job, for a new job and for the jobs of a schedule. */

import { type ReadonlySignal, type Signal, useComputed, useSignal } from "@preact/signals";
import type { Schemas } from "../api.js";
import { LongTextField } from "../ui/fields.js";
import { Field } from "../ui/page.js";
import { type ErrorAt, Skeleton } from "../ui/problem.js";
import { FileInputs, type InputFile } from "./files.js";
import { useAgents, useSkills } from "./job_filters.js";
import { ModelField } from "./model_field.js";
import { MoreFields } from "./more_fields.js";
import { ParameterForm, type Values } from "./parameters.js";

type CreateJob = Schemas["CreateJob"];

/** The draft of a job in a form. */
export interface Draft {
  job: Signal<CreateJob>;
  files: Signal<InputFile[]>;
  isUploading: ReadonlySignal<boolean>;
}

export function emptyJob(skill?: string, agent?: string): CreateJob {
  return { skill: skill ?? (agent ? null : "shell"), agent: agent ?? null, prompt: "" };
}

export function useDraft(start: CreateJob): Draft {
  const job = useSignal(start);
  const files = useSignal<InputFile[]>(
    (start.inputs ?? []).map((input, id) => {
      const name = input.name ?? input.url ?? input.asset_id ?? "file";
      return { id: -id - 1, name, size: 0, sent: 0, input };
    }),
  );
  const isUploading = useComputed(() => files.value.some(({ input, error }) => !input && !error));
  return { job, files, isUploading };
}

/** Returns the request of a draft without empty fields. */
export function bodyOfDraft({ job, files }: Draft): CreateJob {
  const inputs = files.value.flatMap(({ input }) => (input ? [input] : []));
  const { inputs: _, prompt, ...rest } = job.value;
  const isEmpty = (value: unknown): boolean =>
    value === null || value === "" || (typeof value === "object" && Object.values(value as object).every(isEmpty));
  const given = Object.entries(rest).filter(([, value]) => !isEmpty(value));
  return { prompt, ...Object.fromEntries(given), ...(inputs.length ? { inputs } : {}) };
}

interface JobFieldsProps {
  draft: Draft;
  errorAt: ErrorAt;
  /** Whether the job is submitted now, not by a schedule. */
  startsNow?: boolean;
}

export function JobFields({ draft, errorAt, startsNow = true }: JobFieldsProps) {
  const skills = useSkills().data.value;
  const agents = useAgents().data.value;
  if (!skills || !agents) return <Skeleton />;
  const job = draft.job.value;
  const change = (changes: Partial<CreateJob>) => void (draft.job.value = { ...draft.job.value, ...changes });
  const skill = skills.find(({ name }) => name === job.skill);
  const choose = (value: string) => {
    const [kind, name = ""] = value.split(/:(.*)/s);
    change(kind === "agent" ? { agent: name, skill: null } : { skill: name, agent: null, parameters: {} });
  };
  return (
    <>
      <Field label="Skill or agent" hint={skill?.description} error={errorAt("/skill") ?? errorAt("/agent")}>
        <select
          class="control"
          value={job.agent ? `agent:${job.agent}` : `skill:${job.skill}`}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          <optgroup label="Skills">
            {skills.map(({ name, available }) => (
              <option key={name} value={`skill:${name}`}>
                {available ? name : `${name} (unavailable)`}
              </option>
            ))}
          </optgroup>
          <optgroup label="Agents">
            {agents.map(({ name }) => (
              <option key={name} value={`agent:${name}`}>
                {name}
              </option>
            ))}
          </optgroup>
        </select>
      </Field>
      <LongTextField
        label="Prompt"
        error={errorAt("/prompt")}
        value={job.prompt}
        set={(prompt) => change({ prompt })}
        required
      />
      <div class="field">
        <span class="label">Files</span>
        <FileInputs files={draft.files} kinds={skill?.inputs ?? null} />
        {errorAt("/inputs") && <span class="field-error">{errorAt("/inputs")}</span>}
      </div>
      {skill && (
        <ParameterForm
          schema={skill.parameters}
          values={(job.parameters ?? {}) as Values}
          set={(parameters) => change({ parameters: parameters as Record<string, never> })}
          errorAt={errorAt}
        />
      )}
      <ModelField value={job.model ?? []} set={(model) => change({ model })} error={modelError(errorAt)} />
      <MoreFields job={job} change={change} errorAt={errorAt} startsNow={startsNow} />
    </>
  );
}

/** Returns the error of the model list, or else the first error of a model in it. */
function modelError(errorAt: ErrorAt): string | undefined {
  const places = ["/model", ...[0, 1, 2, 3, 4].map((place) => `/model/${place}`)];
  return places.map(errorAt).find((error) => error);
}
