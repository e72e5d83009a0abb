/** The light or dark theme: the system's theme unless the user chooses one. */

import { signal } from "@preact/signals";

const NAME = "theme";
type Theme = "light" | "dark";

export const theme = signal<Theme>(systemTheme());

export function applyTheme(): void {
  const chosen = localStorage.getItem(NAME);
  if (chosen === "light" || chosen === "dark") theme.value = chosen;
  document.documentElement.style.colorScheme = chosen ?? "light dark";
}

export function toggleTheme(): void {
  localStorage.setItem(NAME, theme.value === "dark" ? "light" : "dark");
  applyTheme();
}

function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
