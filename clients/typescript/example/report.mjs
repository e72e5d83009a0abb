// Example: uploads a file, submits a job, follows it, approves its command and downloads a page of prices.
//
//   SKILLET_URL=http://127.0.0.1:8420 SKILLET_API_KEY=sk_… node example/report.mjs [FOLDER]

import { Client } from "skillet-client";

const folder = process.argv[2] ?? ".";
const client = new Client();

const PROMPT = `Make a page of the prices.
\`\`\`bash
{ echo '<!doctype html><h1>Prices</h1><pre>'; sort prices.csv; echo '</pre>'; } > prices.html && echo done
\`\`\`
output: prices.html
`;

const { id } = await client.submit({
  skill: "html",
  model: "script/bash",
  prompt: PROMPT,
  files: [new File(["rye,3\nspelt,4\n"], "prices.csv")],
  // Every command waits for approval. This program approves it.
  hooks: { confirm: ["shell.exec"] },
});
console.log(`submitted ${id}`);

for await (const event of client.follow(id)) {
  console.log(`${event.seq} ${event.type}`);
  if (event.type === "approval.requested") {
    console.log(`approving ${event.data.input.command}`);
    await client.approve(event.data.approval_id);
  }
  if (event.type === "job.failed") console.error(event.data.error?.message);
  if (event.type === "job.completed") {
    for (const output of event.data.outputs) console.log(`saved ${await client.download(output, folder)}`);
  }
}
