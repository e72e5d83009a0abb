/** A status: a word and an icon. */

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

interface StatusBadgeProps {
  status: Status;
  /** The word for it, if it is not the status of a job. */
  word?: string;
}

export function StatusBadge({ status, word = status }: StatusBadgeProps) {
  return (
    <span class={`status is-${status}`}>
      <Icon name={ICONS[status]} spin={status === "running"} />
      {word}
    </span>
  );
}

export function isOver(status: Status): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}
