/** Commands and programs that submit the same job. */

import { useState } from "preact/hooks";
import type { Schemas } from "../api.js";
import { CodeBlock } from "../ui/code.js";
import { Loaded } from "../ui/problem.js";
import { useRequest } from "./request.js";

type CreateJob = Schemas["CreateJob"];
const LANGUAGES = { curl, CLI: cli, Python: python, TypeScript: typescript };
const COLOURED_AS = { curl: "bash", CLI: "bash", Python: "python", TypeScript: "typescript" };

export function Snippets({ job }: { job: string }) {
  return <Loaded resource={useRequest(job)}>{(request) => <Code body={bodyOf(request)} />}</Loaded>;
}

export function Code({ body }: { body: CreateJob }) {
  const [language, setLanguage] = useState<keyof typeof LANGUAGES>("curl");
  return (
    <>
      <div class="tabs" role="group" aria-label="Language">
        {(Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[]).map((name) => (
          <button key={name} aria-pressed={name === language} onClick={() => setLanguage(name)}>
            {name}
          </button>
        ))}
      </div>
      <CodeBlock text={LANGUAGES[language](body)} language={COLOURED_AS[language]} />
    </>
  );
}

/** Returns the request without empty fields and defaults. */
export function bodyOf(request: Schemas["JobRequest"]): CreateJob {
  const { skill, agent, conversation_id, title, prompt, model, inputs, limits, priority, ...rest } = request;
  const { max_attempts: _, ...others } = rest;
  const caps = { max_total_tokens: limits.max_total_tokens, max_cost_usd: limits.max_cost_usd };
  const all = {
    skill,
    agent,
    conversation_id,
    model,
    prompt,
    title: prompt.startsWith(title) ? null : title,
    priority: priority || null,
    limits: Object.values(caps).some(Boolean) ? caps : null,
    ...others,
  };
  const isEmpty = (value: unknown) =>
    value === null || value === undefined || (typeof value === "object" && Object.values(value).flat().length === 0);
  const clean = (value: object) => Object.fromEntries(Object.entries(value).filter(([, it]) => !isEmpty(it)));
  return { ...(clean(all) as CreateJob), ...(inputs.length ? { inputs: inputs.map(clean) } : {}) };
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(body: CreateJob): string {
  const json = JSON.stringify(body, null, 2);
  return `curl ${location.origin}/v1/jobs \\
  -H "Authorization: Bearer $SKILLET_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quote(json)}`;
}

export function cli(body: CreateJob): string {
  const words = ["skillet run"];
  words.push(body.agent ? `--agent ${body.agent}` : (body.skill ?? ""));
  words.push(quote(body.prompt));
  if (body.model) words.push(`-m ${[body.model].flat().join(",")}`);
  if (body.conversation_id) words.push(`-c ${body.conversation_id}`);
  for (const { name, url } of body.inputs ?? []) words.push(`-i ${quote(url ?? name ?? "")}`);
  for (const [name, value] of Object.entries(body.parameters ?? {})) {
    words.push(`-p ${quote(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)}`);
  }
  return words.join(" \\\n  ");
}

function python({ prompt, ...rest }: CreateJob): string {
  const options = Object.entries(rest).map(([name, value]) => `    ${name}=${pythonValue(value)},\n`);
  return `from skillet_client import Client

client = Client("${location.origin}")  # the key is in SKILLET_API_KEY
job = client.run(
    ${JSON.stringify(prompt)},
${options.join("")})
print(job.text)`;
}

function pythonValue(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, it]) => `${JSON.stringify(name)}: ${pythonValue(it)}`)
    .join(", ")}}`;
}

function typescript(body: CreateJob): string {
  return `import { Client } from "skillet-client";

const client = new Client({ url: "${location.origin}" }); // the key is in SKILLET_API_KEY
const job = await client.run(${JSON.stringify(body, null, 2)});
console.log(job.text);`;
}
