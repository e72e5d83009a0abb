/** A dialog that shows a secret for copying. */

import type { ComponentChildren } from "preact";
import { CopyButton } from "./copy.js";
import { Dialog } from "./dialog.js";

interface SecretDialogProps {
  title: string;
  secret: string;
  close: () => void;
  children: ComponentChildren;
}

export function SecretDialog({ title, secret, close, children }: SecretDialogProps) {
  return (
    <Dialog title={title} close={close}>
      <p>{children}</p>
      <div class="row">
        <code class="secret">{secret}</code>
        <CopyButton text={secret} label="Copy" />
      </div>
    </Dialog>
  );
}
