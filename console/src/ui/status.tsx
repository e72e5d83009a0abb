/** A status, shown as a word with an icon. */

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
  /** The word to show instead of the status. */
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
