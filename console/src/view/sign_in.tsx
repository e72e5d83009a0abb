/** Signing in with an API key, which becomes a session and is not kept. */

import { useEffect, useState } from "preact/hooks";
import { signIn } from "../session.js";
import { Field } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";

/** `refusal` says why a code of `skillet open` did not sign in. */
export function SignIn({ refusal }: { refusal: unknown }) {
  const [key, setKey] = useState("");
  const [error, setError] = useState<unknown>(refusal);
  const [isSending, setSending] = useState(false);
  useEffect(() => void (document.title = "Sign in · Skillet"), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    setError(undefined);
    await signIn({ key: key.trim() }).catch(setError);
    setSending(false);
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <img src="/console/icon.svg" alt="" width="40" height="40" />
        <h1>Sign in to Skillet</h1>
        <Field label="API key" hint={<KeyHint />}>
          <input
            class="control"
            type="password"
            autocomplete="current-password"
            placeholder="sk_…"
            spellcheck={false}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
            required
          />
        </Field>
        <ProblemBox error={error} />
        <button class="button is-accent is-large" disabled={isSending}>
          {isSending ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}

function KeyHint() {
  return (
    <>
      <code>skillet open</code> signs you in without one. <code>skillet up</code> prints where the first key is. The
      browser keeps a session, not the key.
    </>
  );
}
