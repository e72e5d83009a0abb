/** Modal dialogs, as browsers have them. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface DialogProps {
  title: string;
  close: () => void;
  isWide?: boolean;
  children: ComponentChildren;
}

export function Dialog({ title, close, isWide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const onClick = (event: MouseEvent) => void (event.target === dialog.current && close());
  return (
    <dialog
      ref={dialog}
      class={isWide ? "dialog is-wide" : "dialog"}
      aria-label={title}
      onClose={close}
      onClick={onClick}
    >
      <div class="dialog-body">
        <h2>{title}</h2>
        {children}
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

/** Asks before something that cannot be undone. */
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
