/** Test of the scenario in `clients/scenario.md`. */

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { JobFailed, type JobEvent } from "skillet-client";
import { client, scenario } from "./service.js";

test("the transcript is the same as that of the other clients", async () => {
  const skillet = client();
  const lines: string[] = [];
  const write = (event: JobEvent) => {
    if (!scenario.omit.includes(event.type)) lines.push(`event ${event.type}`);
  };

  const metadata = { scenario: randomUUID() };
  const filters = { metadata, types: scenario.milestones };
  let start = "";
  for await (const { cursor } of skillet.events(filters)) {
    start = cursor;
    break;
  }

  const { name, content } = scenario.upload;
  const asset = await skillet.upload(new File([content], name));
  lines.push(`uploaded ${asset.name} ${asset.size} ${asset.sha256}`);

  const { id } = await skillet.submit({ ...scenario.report, metadata, inputs: [{ asset_id: asset.id }] });
  for await (const event of skillet.follow(id)) {
    write(event);
    if (event.type !== "approval.requested") continue;
    lines.push(`approve ${event.data.tool}`);
    await skillet.approve(event.data.approval_id);
  }
  const { data: job } = await skillet.api.GET("/v1/jobs/{job_id}", { params: { path: { job_id: id } } });
  lines.push(`ended ${job?.status} ${job?.text?.split("\n")[0]}`);

  const folder = await mkdtemp(join(tmpdir(), "skillet-"));
  for (const output of job?.outputs ?? []) {
    const path = await skillet.download(output, folder);
    assert.equal(path, join(folder, output.asset.name));
    const bytes = await readFile(path);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    lines.push(`downloaded ${output.asset.name} ${bytes.length} ${sha256}`);
  }
  assert.deepEqual(await readdir(folder), ["prices.html"], "no temporary file is left");
  await rm(folder, { recursive: true });

  const onEvent = async (event: JobEvent) => {
    write(event);
    if (event.type !== "approval.requested") return;
    lines.push(`deny ${event.data.tool}`);
    await skillet.deny(event.data.approval_id, scenario.denial);
  };
  const denied = await skillet.run({ ...scenario.denied, metadata }, { onEvent });
  lines.push(`ended ${denied.status} ${denied.text?.split("\n")[0]}`);

  await assert.rejects(skillet.run({ ...scenario.failed, metadata }), (error) => {
    assert(error instanceof JobFailed);
    lines.push(`raised ${error.job.status} ${error.job.error?.code}`);
    return true;
  });

  for await (const { event } of skillet.events({ ...filters, after: start })) {
    if (event === undefined) continue;
    lines.push(`milestone ${event.type} ${event.status}`);
    if (event.type === "job.failed") break;
  }
  assert.deepEqual(lines, scenario.transcript);
});
