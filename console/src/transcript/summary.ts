/** A tool call in short: what it does, and what it printed. */

/** The first thing of an input that tells what a call does. */
export function summary(input: unknown): string {
  if (typeof input !== "object" || input === null) return String(input ?? "");
  const values = Object.values(input);
  const first = values.find((value) => typeof value === "string" && value !== "") ?? JSON.stringify(input);
  return String(first).trim().split("\n", 1)[0] ?? "";
}

/** What a program printed, if an output is JSON with its streams. */
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
