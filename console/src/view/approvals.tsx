/** The page of the tool calls that wait for approval, oldest first. */

import { allPages, api, call } from "../api.js";
import type { Milestone } from "../feed.js";
import { useResource } from "../resource.js";
import { ApprovalCard } from "../transcript/call.js";
import { Icon } from "../ui/icon.js";
import { Empty, Page, Time } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { isOver } from "../ui/status.js";
import { titleOf } from "./job_filter.js";

/** Whether a milestone may mean that an approval was requested or resolved. */
export const isAboutApprovals = ({ type, status }: Milestone) =>
  type.startsWith("approval.") || type === "job.waiting" || isOver(status);

export function ApprovalsPage() {
  const load = () =>
    allPages((query) => call(api.GET("/v1/approvals", { params: { query: { status: "pending", ...query } } })));
  const resource = useResource("approvals", load, { on: isAboutApprovals });
  return (
    <Page title="Approvals" about="Tool calls that wait for a person to approve or deny them.">
      <Loaded resource={resource}>
        {(pending) =>
          pending.length === 0 ? (
            <Empty icon="approvals" title="No pending approvals">
              <p>
                A job asks for approval before it calls a tool in its <code>hooks.confirm</code>.
              </p>
            </Empty>
          ) : (
            <div class="stack">
              {[...pending]
                .sort((a, b) => a.requested_at.localeCompare(b.requested_at))
                .map((it) => (
                  <article class="call card" key={it.id}>
                    <header class="card-head">
                      <Icon name="hand" />
                      <JobLink id={it.job_id} />
                      <span class="tag">{it.tool}</span>
                      <span class="fine is-pushed">
                        requested <Time at={it.requested_at} />
                      </span>
                    </header>
                    <ApprovalCard
                      id={it.id}
                      expiresAt={it.expires_at}
                      input={it.input}
                      onAnswered={() => void resource.reload()}
                    />
                  </article>
                ))}
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}

function JobLink({ id }: { id: string }) {
  const load = () => call(api.GET("/v1/jobs/{job_id}", { params: { path: { job_id: id } } }));
  const job = useResource(`job:${id}`, load).data.value;
  return <a href={`/console/jobs/${id}`}>{job ? titleOf(job) : "Open the job"}</a>;
}
