/** The request of a job: prompt, inputs and settings. */

import { useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { count, duration, modelNames, usd } from "../format.js";
import { useResource } from "../resource.js";
import { CodeBlock } from "../ui/code.js";
import { Icon } from "../ui/icon.js";
import { AssetName } from "../ui/asset_name.js";
import { Value } from "../ui/json_tree.js";
import { Markdown } from "../ui/markdown.js";
import { Facts } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { SchemaTable } from "../ui/schema_table.js";

export function useRequest(job: string) {
  return useResource(`request:${job}`, () =>
    call(api.GET("/v1/jobs/{job_id}/request", { params: { path: { job_id: job } } })),
  );
}

/** The maximum length of a prompt above a transcript, in characters and lines, until it is expanded. */
const MAX_PROMPT = 600;
const MAX_PROMPT_LINES = 8;

/** Prompts with blocks of code are shown as Markdown. */
const HAS_CODE = /^```/m;

/** The prompt and the inputs of a job, shown above its transcript. */
export function Asked({ job, title }: { job: string; title: string }) {
  const request = useRequest(job).data.value;
  const [isWhole, setWhole] = useState(false);
  // A short prompt is already shown as the title.
  if (!request || (request.prompt.trim() === title && request.inputs.length === 0)) return null;
  const { prompt } = request;
  const head = prompt.slice(0, MAX_PROMPT).split("\n").slice(0, MAX_PROMPT_LINES).join("\n");
  return (
    <section class="asked" aria-label="Prompt">
      {HAS_CODE.test(prompt) ? <Markdown text={isWhole ? prompt : head} /> : <p>{isWhole ? prompt : head}</p>}
      {head.length < prompt.length && (
        <button class="button small is-quiet" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : "Show all"}
        </button>
      )}
      <Inputs inputs={request.inputs} />
    </section>
  );
}

function Inputs({ inputs }: { inputs: Schemas["JobRequest"]["inputs"] }) {
  if (inputs.length === 0) return null;
  return (
    <div class="row">
      {inputs.map((input, index) => (
        <a
          class="file-chip"
          key={index}
          href={input.asset_id ? `/v1/assets/${input.asset_id}/content` : (input.url ?? "")}
          target="_blank"
          rel="noopener noreferrer"
        >
          <Icon name={input.asset_id ? "file" : "globe"} />
          {input.asset_id ? <AssetName id={input.asset_id} /> : (input.name ?? input.url)}
        </a>
      ))}
    </div>
  );
}

export function RequestView({ job }: { job: string }) {
  return (
    <Loaded resource={useRequest(job)}>
      {(request) => (
        <div class="stack">
          <h2>Prompt</h2>
          <CodeBlock text={request.prompt} />
          {request.inputs.length > 0 && <h2>Inputs</h2>}
          <Inputs inputs={request.inputs} />
          {Object.keys(request.parameters).length > 0 && (
            <>
              <h2>Parameters</h2>
              <Facts
                facts={Object.entries(request.parameters).map(([name, value]) => [name, <Value value={value} />])}
              />
            </>
          )}
          {request.output_schema && (
            <>
              <h2>Result schema</h2>
              <SchemaTable schema={request.output_schema} />
            </>
          )}
          <h2>Settings</h2>
          <Facts
            facts={[
              ["Model", modelNames(request.model)],
              ["Time limit", duration(request.limits.timeout_seconds * 1000)],
              ["Turns", `${request.limits.max_iterations} at most`],
              ["Tokens per reply", `${count(request.limits.max_tokens)} at most`],
              ["Total tokens", request.limits.max_total_tokens && `${count(request.limits.max_total_tokens)} at most`],
              ["Cost", request.limits.max_cost_usd && `${usd(request.limits.max_cost_usd)} at most`],
              ["Needs approval", request.hooks.confirm?.join(", ")],
              ["Priority", request.priority || null],
              ["Attempts", `${request.max_attempts} at most`],
            ]}
          />
        </div>
      )}
    </Loaded>
  );
}
