/** Form submission. */

import { useState } from "preact/hooks";

interface Submission {
  submit: (event: Event) => Promise<void>;
  isSending: boolean;
  /** The error of the last submission. */
  error: unknown;
}

/** Returns a form handler that runs an action. Submissions do not overlap. */
export function useSubmit(action: () => Promise<unknown>, firstError?: unknown): Submission {
  const [error, setError] = useState<unknown>(firstError);
  const [isSending, setSending] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setSending(true);
    setError(undefined);
    await action().catch(setError);
    setSending(false);
  };
  return { submit, isSending, error };
}
