/** The summary and the printed output of a tool call. */

/** Returns the first line of the first non-empty string in an input. */
export function summary(input: unknown): string {
  if (typeof input !== "object" || input === null) return String(input ?? "");
  const values = Object.values(input);
  const first = values.find((value) => typeof value === "string" && value !== "") ?? JSON.stringify(input);
  return String(first).trim().split("\n", 1)[0] ?? "";
}

/** Returns the printed text of an output that is JSON with `stdout` and `stderr`, or else the output itself. */
export function printed(output: string): string {
  if (!output.startsWith('{"')) return output;
  try {
    const { stdout, stderr } = JSON.parse(output) as { stdout?: unknown; stderr?: unknown };
    if (typeof stdout !== "string" || typeof stderr !== "string") return output;
    return [stdout, stderr].filter((text) => text !== "").join("\n") || "(no output)";
  } catch {
    return output;
  }
}
