/** The sign-in page. It exchanges an API key for a session and does not store the key. */

import { useEffect, useState } from "preact/hooks";
import { signIn } from "../session.js";
import { TextField } from "../ui/fields.js";
import { ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";

/** The sign-in form. `refusal` is the error of a failed sign-in with a code of `skillet open`. */
export function SignIn({ refusal }: { refusal: unknown }) {
  const [key, setKey] = useState("");
  const { submit, isSending, error } = useSubmit(() => signIn({ key: key.trim() }), refusal);
  useEffect(() => void (document.title = "Sign in · Skillet"), []);
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <img src="/console/icon.svg" alt="" width="40" height="40" />
        <h1>Sign in to Skillet</h1>
        <TextField
          label="API key"
          hint={<KeyHint />}
          type="password"
          autocomplete="current-password"
          placeholder="sk_…"
          value={key}
          set={setKey}
          required
        />
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
      <code>skillet open</code> signs you in without a key. <code>skillet up</code> prints the path of the first key.
      The browser stores a session, not the key.
    </>
  );
}
