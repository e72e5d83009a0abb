/** The actions of a job. */

import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { api, call, type Job } from "../api.js";
import { useKeys } from "../keyboard.js";
import { DeleteButton, Dialog } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { attempt } from "../ui/notice.js";
import { isOver } from "../ui/status.js";
import { neighbourOf } from "./job_filter.js";
import { Snippets } from "./snippets.js";

export function Actions({ job, reload }: { job: Job; reload: () => Promise<void> }) {
  const { route } = useLocation();
  const [isShown, setShown] = useState(false);
  const path = { params: { path: { job_id: job.id } } };
  const go = (address: string | undefined) => void (address && route(address));
  useKeys({
    Escape: () => route("/console/jobs"),
    "[": () => go(neighbourOf(job.id, -1)),
    "]": () => go(neighbourOf(job.id, 1)),
  });
  const cancel = async () => {
    await attempt(() => call(api.POST("/v1/jobs/{job_id}/cancel", path)), "The job is being cancelled");
    await reload();
  };
  const retry = () =>
    attempt(
      async () => route(`/console/jobs/${(await call(api.POST("/v1/jobs/{job_id}/retry", path))).id}`),
      "Submitted again",
    );
  return (
    <>
      <button class="button is-quiet" onClick={() => setShown(true)}>
        <Icon name="terminal" />
        Code
      </button>
      {isOver(job.status) && (
        <DeleteButton
          question="Delete this job?"
          consequence="Its log and its files are deleted, too. This cannot be undone."
          action={() => call(api.DELETE("/v1/jobs/{job_id}", path))}
          then="/console/jobs"
        />
      )}
      {isOver(job.status) && (
        <button class="button" onClick={() => void retry()}>
          <Icon name="retry" />
          Retry
        </button>
      )}
      {isOver(job.status) ? (
        <a class="button" href={`/console/new?from=${job.id}`}>
          Run again with changes
        </a>
      ) : (
        <button class="button" onClick={() => void cancel()}>
          Cancel
        </button>
      )}
      {isShown && (
        <Dialog title="This job as code" isWide close={() => setShown(false)}>
          <Snippets job={job.id} />
        </Dialog>
      )}
    </>
  );
}
