/** Modal dialogs, based on the `<dialog>` element. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.js";
import { attempt } from "./notice.js";

interface DialogProps {
  title: string;
  close: () => void;
  isWide?: boolean;
  /** Whether the dialog fills the window. */
  isFull?: boolean;
  children: ComponentChildren;
}

export function Dialog({ title, close, isWide = false, isFull = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const onClick = (event: MouseEvent) => void (event.target === dialog.current && close());
  return (
    <dialog
      ref={dialog}
      class={`dialog ${isFull ? "is-full" : isWide ? "is-wide" : ""}`}
      aria-label={title}
      onClose={close}
      onClick={onClick}
    >
      <div class="dialog-body">
        <h2>{title}</h2>
        {children}
        {/* The button is last so that the first field of a form gets the focus. */}
        <button type="button" class="plain dialog-close" aria-label="Close" onClick={close}>
          <Icon name="cross" />
        </button>
      </div>
    </dialog>
  );
}

interface Question {
  title: string;
  text: string;
  action: string;
  answer: (isYes: boolean) => void;
}

const question = signal<Question>();

/** Asks for confirmation of an action that cannot be undone. */
export function confirm(title: string, text: string, action: string): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (isYes: boolean) => {
      question.value = undefined;
      resolve(isYes);
    };
    question.value = { title, text, action, answer };
  });
}

export function Confirmation() {
  const asked = question.value;
  if (!asked) return null;
  return (
    <Dialog title={asked.title} close={() => asked.answer(false)}>
      <p>{asked.text}</p>
      <div class="row is-end">
        <button class="button" onClick={() => asked.answer(false)}>
          Keep
        </button>
        <button class="button is-danger" onClick={() => asked.answer(true)}>
          {asked.action}
        </button>
      </div>
    </Dialog>
  );
}

interface DeleteButtonProps {
  question: string;
  consequence: string;
  action: () => Promise<unknown>;
  /** The address to go to after the deletion. */
  then: string;
}

export function DeleteButton({ question: title, consequence, action, then }: DeleteButtonProps) {
  const { route } = useLocation();
  const remove = async () => {
    if (!(await confirm(title, consequence, "Delete"))) return;
    if (await attempt(action, "Deleted")) route(then);
  };
  return (
    <button class="button is-quiet" onClick={() => void remove()}>
      Delete…
    </button>
  );
}
