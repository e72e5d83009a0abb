/** Icons, drawn with lines on a 16 × 16 grid. */

const PATHS = {
  jobs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  plus: "M8 3v10M3 8h10",
  approvals: "M8 1.8l5 2v4c0 3-2.1 5.2-5 6.4-2.9-1.2-5-3.4-5-6.4v-4zM5.8 8l1.6 1.6L10.5 6.4",
  conversations: "M2.5 3.5h11v7.5h-6L4.5 13.5V11h-2z",
  agents: "M8 2v2M4 4h8a1 1 0 011 1v6a1 1 0 01-1 1H4a1 1 0 01-1-1V5a1 1 0 011-1zM6 7.2v1.3M10 7.2v1.3M5.5 14h5",
  skills: "M9 1.8L3.5 9H8l-1 5.2L12.5 7H8z",
  secrets: "M10.5 2.5a3 3 0 11-2.6 4.6L3 12v1.5h2V12h1.5v-1.5L8 9",
  queue: "M2.5 13.5h11M4 11V8M8 11V3M12 11V6",
  webhooks: "M4 11.5a2.2 2.2 0 112-3l2-3.4M10.6 4a2.2 2.2 0 10-3 2.6l2 3.6M6.5 11.5h5M11.5 9.6a2 2 0 11-.1 3.8",
  usage: "M2.5 13.5h11M2.5 11l3.5-4 3 2.5 4-5.5",
  workers: "M3 2.5h10v4.5H3zM3 9h10v4.5H3zM5.3 4.8h.1M5.3 11.2h.1",
  tenants: "M2.5 13.5v-11h7v11M9.5 6.5h4v7M5 5.5h2M5 8h2M5 10.5h2M1.5 13.5h13",
  keys: "M5 8.5a2.5 2.5 0 110-.1M5 6v0M7.3 8.5H14v2.2M11.3 8.5v1.7",
  check: "M3.2 8.4l3.1 3.1 6.5-7",
  cross: "M4 4l8 8M12 4l-8 8",
  clock: "M8 2.2a5.8 5.8 0 110 11.6A5.8 5.8 0 018 2.2zM8 5v3.2l2.2 1.4",
  hand: "M6 2.8v10.4M10 2.8v10.4",
  stop: "M4 4h8v8H4z",
  dash: "M4 8h8",
  play: "M5 3l8 5-8 5z",
  run: "M13.6 8A5.6 5.6 0 118 2.4",
  chevron: "M6 3.5L10.5 8 6 12.5",
  search: "M7 2.5a4.5 4.5 0 110 9 4.5 4.5 0 010-9zM10.3 10.3l3.4 3.4",
  file: "M3.5 1.8h6l3 3v9.4h-9zM9.5 1.8v3h3",
  image: "M2.5 3h11v10h-11zM2.5 11l3.5-3.5 3 3 1.8-1.8 2.7 2.7M10.4 6h.1",
  audio: "M3 6.2v3.6M5.5 4.2v7.6M8 2.5v11M10.5 5v6M13 6.5v3",
  video: "M2 4h8.5v8H2zM10.5 7l3.5-2v6l-3.5-2",
  html: "M5 4.5L1.8 8 5 11.5M11 4.5L14.2 8 11 11.5",
  document: "M3.5 1.8h6l3 3v9.4h-9zM5.5 7.5h5M5.5 10h5",
  download: "M8 2v8M4.8 7L8 10.2 11.2 7M2.5 13.5h11",
  open: "M6.5 3H3v10h10V9.5M9 2.5h4.5V7M13.3 2.7L7.5 8.5",
  enlarge: "M9.5 2.5h4v4M13.3 2.7L9.3 6.7M6.5 13.5h-4v-4M2.7 13.3l4-4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  retry: "M13 3v3.2H9.8M12.8 6A5.3 5.3 0 103 9.7",
  upload: "M8 10.5v-8M4.8 5.5L8 2.3l3.2 3.2M2.5 13.5h11",
  sun: "M8 5.2a2.8 2.8 0 110 5.6 2.8 2.8 0 010-5.6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13 9.6A5.5 5.5 0 016.4 3a5.5 5.5 0 106.6 6.6z",
  leave: "M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  warning: "M8 2l6.5 11.5h-13zM8 6.3v3.4M8 11.5v.1",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10.3h3",
  globe:
    "M8 2.2a5.8 5.8 0 110 11.6A5.8 5.8 0 018 2.2zM2.2 8h11.6M8 2.2c3.4 3.6 3.4 8 0 11.6M8 2.2c-3.4 3.6-3.4 8 0 11.6",
  help: "M8 2.2a5.8 5.8 0 110 11.6A5.8 5.8 0 018 2.2zM6.3 6.4a1.7 1.7 0 113 1.1C8.6 8 8 8.3 8 9.2M8 11.2v.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, spin = false }: { name: IconName; spin?: boolean }) {
  return (
    <svg class={spin ? "icon spin" : "icon"} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
