/** The page for a new job, empty or copied from an earlier job. */

import { useLocation } from "preact-iso";
import { useMemo, useState } from "preact/hooks";
import { api, call, client, requestKey, type Schemas } from "../api.js";
import { useResource } from "../resource.js";
import { Dialog } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { Page } from "../ui/page.js";
import { fieldError, Loaded, ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";
import { bodyOfDraft, emptyJob, JobFields, useDraft } from "./job_fields.js";
import { bodyOf, Code } from "./snippets.js";

type CreateJob = Schemas["CreateJob"];

const EXAMPLE: CreateJob = {
  skill: "html",
  model: "script/bash",
  prompt: "```bash\necho '<!doctype html><h1>Hello from Skillet</h1>' > hello.html\n```\noutput html: hello.html",
};

export function NewJobPage() {
  const { query } = useLocation();
  const from = query["from"];
  const source = useResource<CreateJob>(`new:${JSON.stringify(query)}`, async () => {
    if (query["example"]) return EXAMPLE;
    if (!from) return emptyJob(query["skill"], query["agent"]);
    const request = await call(api.GET("/v1/jobs/{job_id}/request", { params: { path: { job_id: from } } }));
    return { ...bodyOf(request), limits: request.limits };
  });
  return (
    <Page title={from ? "Run again with changes" : "New job"} above={{ title: "Jobs", href: "/console/jobs" }}>
      <Loaded resource={source}>{(start) => <JobForm start={start} />}</Loaded>
    </Page>
  );
}

function JobForm({ start }: { start: CreateJob }) {
  const { route } = useLocation();
  const draft = useDraft(start);
  const [isCodeOpen, setCodeOpen] = useState(false);
  const key = useMemo(requestKey, [draft.job.value]);
  const body = bodyOfDraft(draft);
  const { submit, error, isSending } = useSubmit(async () => {
    const { id } = await client.submit(body, { idempotencyKey: key });
    route(`/console/jobs/${id}`);
  });
  return (
    <form class="stack new-job" onSubmit={submit}>
      <JobFields draft={draft} errorAt={(pointer) => fieldError(error, pointer)} />
      <ProblemBox error={error} />
      <div class="row form-foot">
        <button class="button is-accent" disabled={isSending || draft.isUploading.value}>
          {draft.isUploading.value ? "Uploading…" : "Run"}
        </button>
        <button type="button" class="button is-quiet" onClick={() => setCodeOpen(true)}>
          <Icon name="terminal" />
          As code
        </button>
      </div>
      {isCodeOpen && (
        <Dialog title="This job as code" isWide close={() => setCodeOpen(false)}>
          <Code body={body} />
        </Dialog>
      )}
    </form>
  );
}
