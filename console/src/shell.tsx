/** The layout of all views: navigation, the signed-in tenant and API key, and global messages. */

import { signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { api, call, lostSince } from "./api.js";
import { startFeed } from "./feed.js";
import { duration, now } from "./format.js";
import { areKeysOn, isHelpOpen, setKeysOn, useKeys } from "./keyboard.js";
import { useResource } from "./resource.js";
import { isAdmin, me, signOut } from "./session.js";
import { theme, toggleTheme } from "./theme.js";
import { Confirmation, Dialog } from "./ui/dialog.js";
import { Icon, type IconName } from "./ui/icon.js";
import { attempt, Notices } from "./ui/notice.js";
import { isAboutApprovals } from "./view/approvals.js";

type Link = [path: string, title: string, icon: IconName, key: string];

const LINKS: Link[] = [
  ["jobs", "Jobs", "jobs", "j"],
  ["approvals", "Approvals", "approvals", "a"],
  ["conversations", "Conversations", "conversations", "c"],
  ["schedules", "Schedules", "clock", "d"],
  ["agents", "Agents", "agents", "e"],
  ["skills", "Skills", "skills", "s"],
  ["secrets", "Secrets", "secrets", "x"],
  ["webhooks", "Webhooks", "webhooks", "h"],
  ["usage", "Usage", "usage", "u"],
];
const ADMIN_LINKS: Link[] = [
  ["queue", "Queue", "queue", "q"],
  ["workers", "Workers", "workers", "w"],
  ["tenants", "Tenants", "tenants", "t"],
  ["keys", "API keys", "keys", "k"],
];
/** The polling interval for webhooks, since no milestone reports a disabled webhook. */
const WEBHOOKS_MS = 60_000;
const isMenuOpen = signal(false);

export function Shell({ children }: { children: ComponentChildren }) {
  const { route, path } = useLocation();
  const links = isAdmin.value ? [...LINKS, ...ADMIN_LINKS] : LINKS;
  useKeys({
    "?": () => (isHelpOpen.value = true),
    n: () => route("/console/new"),
    t: toggleTheme,
    ...Object.fromEntries(links.map(([target, , , key]) => [`g ${key}`, () => route(`/console/${target}`)])),
  });
  useEffect(() => void (isMenuOpen.value = false), [path]);
  useEffect(() => startFeed(me.value?.tenant.id ?? ""), []);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Sidebar path={path} />
      <main id="main" tabIndex={-1}>
        <Connection />
        {children}
      </main>
      <Notices />
      <Confirmation />
      {isHelpOpen.value && <Help links={links} />}
    </div>
  );
}

function Sidebar({ path }: { path: string }) {
  const pending = useResource(
    "approvals:count",
    () => call(api.GET("/v1/approvals", { params: { query: { status: "pending", limit: 100 } } })),
    { on: isAboutApprovals },
  );
  const waiting = pending.data.value?.data.length ?? 0;
  const webhooks = useResource(
    "webhooks:disabled",
    () => call(api.GET("/v1/webhooks", { params: { query: { limit: 100 } } })),
    { everyMs: WEBHOOKS_MS },
  );
  const disabled = webhooks.data.value?.data.filter(({ status }) => status === "disabled").length ?? 0;
  const badges: Record<string, [number: number, what: string]> = {
    approvals: [waiting, "pending"],
    webhooks: [disabled, "disabled"],
  };
  const item = ([target, title, icon]: Link) => {
    const href = `/console/${target}`;
    const isHere = path === href || path.startsWith(`${href}/`) || (target === "jobs" && path === "/console/new");
    return (
      <a key={target} href={href} aria-current={isHere ? "page" : undefined}>
        <Icon name={icon} />
        {title}
        <Badge of={badges[target]} />
      </a>
    );
  };
  return (
    <nav class={isMenuOpen.value ? "sidebar is-open" : "sidebar"} aria-label="Main">
      <div class="brand">
        <img src="/console/icon.svg" alt="" width="22" height="22" />
        <b>Skillet</b>
        <button
          class="plain menu"
          aria-label="Menu"
          aria-expanded={isMenuOpen.value}
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        >
          <Icon name={isMenuOpen.value ? "cross" : "menu"} />
        </button>
      </div>
      <div class="links">
        {LINKS.map(item)}
        {isAdmin.value && <h2>Operations</h2>}
        {isAdmin.value && ADMIN_LINKS.map(item)}
      </div>
      <div class="sidebar-foot">
        <div class="who">
          <b>{me.value?.tenant.name}</b>
          <span>{me.value?.key.name}</span>
        </div>
        <button
          class="plain"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          onClick={() => (isHelpOpen.value = true)}
        >
          <Icon name="help" />
        </button>
        <button class="plain" aria-label="Light or dark theme" title="Light or dark theme (t)" onClick={toggleTheme}>
          <Icon name={theme.value === "dark" ? "sun" : "moon"} />
        </button>
        <button class="plain" aria-label="Sign out" title="Sign out" onClick={() => void attempt(signOut)}>
          <Icon name="leave" />
        </button>
      </div>
    </nav>
  );
}

function Badge({ of }: { of: [number: number, what: string] | undefined }) {
  if (!of || of[0] === 0) return null;
  const [number, what] = of;
  return (
    <span class="badge" title={`${number} ${what}`}>
      {number}
    </span>
  );
}

/** A message that the service does not respond, shown after 1.5 s. */
function Connection() {
  const since = lostSince.value;
  if (since === undefined || now.value - since < 1500) return null;
  return (
    <div class="connection" role="alert">
      <Icon name="run" spin />
      The service has not responded for {duration(now.value - since)}. Retrying…
    </div>
  );
}

function Help({ links }: { links: Link[] }) {
  const close = () => void (isHelpOpen.value = false);
  const keys: [string, string][] = [
    ["/", "Search"],
    ["n", "New job"],
    ["j k", "Next, previous row"],
    ["Enter", "Open the row"],
    ["x", "Select the row"],
    ["[ ]", "Newer, older job"],
    [".", "Follow the end of a transcript"],
    ["t", "Light or dark theme"],
    ["?", "This help"],
    ...links.map(([, title, , key]): [string, string] => [`g ${key}`, title]),
  ];
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <dl class="shortcuts">
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((part) => (
                <kbd key={part}>{part}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={areKeysOn.value} onChange={(event) => setKeysOn(event.currentTarget.checked)} />
        Use single-key shortcuts
      </label>
    </Dialog>
  );
}
