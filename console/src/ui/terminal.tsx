/** Program output with its colours. Long output is shortened. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { bytes } from "../format.js";
import { CopyButton } from "./copy.js";

/** The number of characters shown at first. */
const MAX_SHOWN = 20_000;
const COLOURS = ["dim", "red", "green", "yellow", "blue", "magenta", "cyan", "plain"];

export function Terminal({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > MAX_SHOWN && !isWhole;
  const shown = isLong ? text.slice(-MAX_SHOWN) : text;
  return (
    <div class="code terminal">
      {isLong && (
        <button class="button small" onClick={() => setWhole(true)}>
          Show {bytes(text.length - MAX_SHOWN)} more
        </button>
      )}
      <pre tabIndex={0}>{coloured(shown)}</pre>
      <CopyButton text={text} />
    </div>
  );
}

/** Converts SGR colours to spans. Removes other control sequences and the text before a carriage return in a line. */
export function coloured(text: string): (string | VNode)[] {
  const clean = text
    .replace(/[^\n]*\r(?!\n)/g, "")
    .replace(/\r/g, "")
    .replace(/\x1b\[[0-9;?]*[A-Za-ln-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]/g, "");
  const parts = clean.split(/\x1b\[([0-9;]*)m/);
  let colour = "";
  let isBold = false;
  return parts.flatMap((part, index) => {
    if (index % 2 === 1) {
      for (const code of part.split(";").map(Number)) {
        if (code === 0) [colour, isBold] = ["", false];
        else if (code === 1) isBold = true;
        else if (code === 39) colour = "";
        else if (code >= 30 && code <= 37) colour = COLOURS[code - 30] ?? "";
        else if (code >= 90 && code <= 97) colour = COLOURS[code - 90] ?? "";
      }
      return [];
    }
    if (part === "") return [];
    const classes = [colour && `ansi-${colour}`, isBold && "ansi-bold"].filter(Boolean).join(" ");
    return [classes ? <span class={classes}>{part}</span> : part];
  });
}
