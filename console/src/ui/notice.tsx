/** Short notices in the corner of the page. Screen readers announce them. */

import { signal } from "@preact/signals";
import { ApiError } from "../api.js";
import { Icon } from "./icon.js";

interface Notice {
  id: number;
  text: string;
  detail?: string | undefined;
  isError: boolean;
}

const SHOWN_MS = 6000;
const notices = signal<Notice[]>([]);
let last = 0;

export function notify(text: string, isError = false, detail?: string): void {
  const notice = { id: ++last, text, isError, detail };
  notices.value = [...notices.value.slice(-2), notice];
  setTimeout(() => dismiss(notice.id), isError ? SHOWN_MS * 3 : SHOWN_MS);
}

/** Runs an action and shows a notice with its result. Returns whether the action succeeded. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await action();
    if (done !== undefined) notify(done);
    return true;
  } catch (error) {
    const request = error instanceof ApiError ? error.problem?.request_id : undefined;
    notify(error instanceof Error ? error.message : String(error), true, request ? `request ${request}` : undefined);
    return false;
  }
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((it) => it.id !== id);
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, detail, isError }) => (
        <div key={id} class={isError ? "notice is-error" : "notice"}>
          <Icon name={isError ? "warning" : "check"} />
          <div>
            {text}
            {detail && <p class="fine">{detail}</p>}
          </div>
          <button class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}
