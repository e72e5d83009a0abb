/** A tool call: one line that expands to its input and output, and the card for its approval. */

import { useState } from "preact/hooks";
import { client } from "../api.js";
import { duration, now, words } from "../format.js";
import { Icon, type IconName } from "../ui/icon.js";
import { attempt } from "../ui/notice.js";
import { Terminal } from "../ui/terminal.js";
import type { Call, CallApproval, CallStatus } from "./state.js";
import { ToolInput } from "./input.js";
import { printed, summary } from "./summary.js";

const ICONS: Record<CallStatus, IconName> = {
  pending: "clock",
  running: "run",
  ok: "check",
  error: "cross",
  timeout: "clock",
  denied: "stop",
  unknown: "warning",
  cancelled: "dash",
};
/** The number of output lines shown for a running call that is not expanded. */
const TAIL_LINES = 12;

export function CallView({ call }: { call: Call }) {
  const [isOpen, setOpen] = useState(call.status === "error");
  const isRunning = call.status === "running";
  const isAsked = call.approval?.status === "pending" && call.status === "pending";
  return (
    <div class={`call is-${call.status}`} id={`e${call.seq}`}>
      <button class="call-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={ICONS[call.status]} spin={isRunning} />
        <span class="call-tool">{call.tool}</span>
        <code class="call-what">{summary(call.input)}</code>
        <span class="call-result">
          {isAsked ? "needs approval" : call.status === "pending" ? "" : words(call.status)}
          {call.exitCode ? ` (${call.exitCode})` : ""}
          {call.durationMs !== undefined && ` · ${duration(call.durationMs)}`}
        </span>
      </button>
      {isAsked && call.approval && (
        <ApprovalCard id={call.approval.id} expiresAt={call.approval.expiresAt} input={call.input} />
      )}
      {call.approval && !isAsked && <Answer approval={call.approval} />}
      {isRunning && !isOpen && call.output && <Terminal text={call.output.split("\n").slice(-TAIL_LINES).join("\n")} />}
      {isOpen && (
        <div class="call-body">
          <ToolInput input={call.input} />
          {call.output && <Terminal text={printed(call.output)} />}
          {call.isTruncated && <p class="fine">The output is truncated.</p>}
        </div>
      )}
    </div>
  );
}

interface ApprovalCardProps {
  id: string;
  expiresAt: string;
  input: unknown;
  onAnswered?: () => void;
}

/** The controls that approve or deny a call, with the remaining time. */
export function ApprovalCard({ id, expiresAt, input, onAnswered }: ApprovalCardProps) {
  const [reason, setReason] = useState<string>();
  const [isSending, setSending] = useState(false);
  const answer = async (action: () => Promise<unknown>, done: string) => {
    setSending(true);
    await attempt(action, done);
    setSending(false);
    onAnswered?.();
  };
  const approve = () => answer(() => client.approve(id), "Approved");
  const deny = () => answer(() => client.deny(id, reason || undefined), "Denied");
  const left = Date.parse(expiresAt) - now.value;
  return (
    <div class="approval">
      <ToolInput input={input} />
      {reason !== undefined && (
        <input
          class="control"
          aria-label="Reason (sent to the model)"
          placeholder="Reason (sent to the model)"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
          ref={(element) => element?.focus()}
        />
      )}
      <div class="row">
        {reason === undefined && (
          <button class="button is-accent" disabled={isSending} onClick={approve}>
            Approve
          </button>
        )}
        <button class={reason === undefined ? "button" : "button is-danger"} disabled={isSending} onClick={deny}>
          Deny
        </button>
        <button class="button is-quiet" onClick={() => setReason(reason === undefined ? "" : undefined)}>
          {reason === undefined ? "Deny with a reason…" : "Back"}
        </button>
        <span class="fine is-pushed">{left > 0 ? `${duration(left - (left % 1000))} left` : "expired"}</span>
      </div>
    </div>
  );
}

function Answer({ approval: { status, by, reason } }: { approval: CallApproval }) {
  const icon = status === "approved" ? "check" : "stop";
  return (
    <p class={`answer is-${status}`}>
      <Icon name={icon} />
      {status === "pending" ? "Waiting for approval" : words(status)}
      {by && ` by ${by}`}
      {reason && `: ${reason}`}
    </p>
  );
}
