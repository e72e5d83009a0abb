/** Copying to the clipboard. Without https, browsers have no clipboard API. */

import { useState } from "preact/hooks";
import { Icon } from "./icon.js";

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (event: MouseEvent) => {
    event.stopPropagation();
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button
      type="button"
      class={label ? "button small" : "plain"}
      aria-label={label ? undefined : "Copy"}
      onClick={copy}
    >
      <Icon name={isCopied ? "check" : "copy"} />
      {label && (isCopied ? "Copied" : label)}
    </button>
  );
}
