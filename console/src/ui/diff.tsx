/** The line diff of two texts. */

/** The maximum number of lines to compare. Longer texts are shown as fully removed and added. */
const MAX_LINES = 2000;

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

export function Diff({ before, after }: { before: string; after: string }) {
  const lines = diffLines(before.split("\n"), after.split("\n"));
  return (
    <div class="diff" tabIndex={0} role="group" aria-label="Differences">
      {lines.map(({ kind, text }, index) => {
        const Tag = kind === "same" ? "span" : kind === "removed" ? "del" : "ins";
        return <Tag key={index}>{text}</Tag>;
      })}
    </div>
  );
}

/** Returns the shortest diff that turns one text into the other. */
export function diffLines(before: string[], after: string[]): DiffLine[] {
  const of = (kind: DiffLine["kind"], lines: string[]) => lines.map((text): DiffLine => ({ kind, text }));
  if (Math.max(before.length, after.length) > MAX_LINES) return [...of("removed", before), ...of("added", after)];
  // The length of the longest common subsequence of the remaining lines, for each pair of lines.
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const isSame = before[row] === after[column];
      lengths[row * width + column] = isSame
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old = "", fresh = ""] = [before[row], after[column]];
    if (row < before.length && column < after.length && old === fresh) {
      lines.push({ kind: "same", text: old });
      [row, column] = [row + 1, column + 1];
    } else if (column === after.length || (row < before.length && at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ kind: "removed", text: old });
      row++;
    } else {
      lines.push({ kind: "added", text: fresh });
      column++;
    }
  }
  return lines;
}
