// A TypeScript program that uses Skillet through a client generated from the OpenAPI document.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Job = components["schemas"]["Job"];

const [baseUrl = "", key = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

async function upload(name: string, content: string) {
  const { data, error } = await client.POST("/v1/assets", {
    body: { file: "" },
    bodySerializer() {
      const form = new FormData();
      form.append("file", new Blob([content], { type: "text/csv" }), name);
      return form;
    },
  });
  if (error) throw new Error(error.detail);
  return data;
}

async function finished(job: Job): Promise<Job> {
  while (job.finished_at === null) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { data, error } = await client.GET("/v1/jobs/{job_id}", { params: { path: { job_id: job.id } } });
    if (error) throw new Error(error.detail);
    job = data;
  }
  return job;
}

const PROMPT = `
\`\`\`bash
{ echo "<!doctype html><h1>Sold</h1><pre>"; sort -t, -k2 -nr rolls.csv; echo "</pre>"; } > sold.html && echo done
\`\`\`
output: sold.html
`;

const asset = await upload("rolls.csv", "rye,3\nspelt,4\n");
const created = await client.POST("/v1/jobs", {
  params: { header: { "Idempotency-Key": asset.id } },
  body: { skill: "html", model: "script/bash", prompt: PROMPT, inputs: [{ asset_id: asset.id }] },
});
if (created.error) throw new Error(created.error.detail);
const job = await finished(created.data);
console.log("job", job.status, job.text);

const events = await client.GET("/v1/jobs/{job_id}/events", { params: { path: { job_id: job.id } } });
for (const event of events.data?.data ?? []) {
  // `type` selects the variant of the event, and with it the type of `data`.
  if (event.type === "tool.completed") console.log("tool", event.data.outcome);
}

for (const { kind, asset } of job.outputs) {
  const path = { asset_id: asset.id };
  const { data } = await client.GET("/v1/assets/{asset_id}/content", { params: { path }, parseAs: "text" });
  console.log("output", kind, asset.name, data?.replaceAll("\n", " "));
}

const refused = await client.POST("/v1/jobs", { body: { skill: "html", model: "script/bash", prompt: "" } });
console.log("refused", refused.response.status, refused.error?.code, refused.error?.errors?.[0]?.pointer);
