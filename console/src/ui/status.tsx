/** The status of a job: a word and an icon. */

import type { Status } from "../api.js";
import { Icon, type IconName } from "./icon.js";

const ICONS: Record<Status, IconName> = {
  queued: "clock",
  running: "run",
  waiting: "hand",
  completed: "check",
  failed: "cross",
  cancelled: "dash",
};

export function StatusBadge({ status }: { status: Status }) {
  return (
    <span class={`status is-${status}`}>
      <Icon name={ICONS[status]} spin={status === "running"} />
      {status}
    </span>
  );
}

export function isOver(status: Status): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}
