/** Sending a form. */

import { useState } from "preact/hooks";

interface Submission {
  submit: (event: Event) => Promise<void>;
  isSending: boolean;
  /** Why the last attempt failed. */
  error: unknown;
}

/** The handler of a form that runs an action, once at a time. */
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
