/** The entry point of the console: session, theme and routes. */

import { render } from "preact";
import { lazy, LocationProvider, Route, Router, useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { isSignedOut } from "./api.js";
import { listen } from "./keyboard.js";
import { me, restore, signIn, takeCode } from "./session.js";
import { Shell } from "./shell.js";
import { applyTheme } from "./theme.js";
import { Empty, Page } from "./ui/page.js";
import { ProblemBox, Skeleton } from "./ui/problem.js";
import { ApprovalsPage } from "./view/approvals.js";
import { JobPage } from "./view/job.js";
import { JobsPage } from "./view/jobs.js";
import { SignIn } from "./view/sign_in.js";

/** The pages that are loaded on demand, by path. */
const LATER: Record<string, keyof typeof import("./later.js")> = {
  new: "NewJobPage",
  conversations: "ConversationsPage",
  "conversations/:id": "ConversationPage",
  agents: "AgentsPage",
  "agents/:name": "AgentPage",
  skills: "SkillsPage",
  "skills/:name": "SkillPage",
  schedules: "SchedulesPage",
  "schedules/:id": "SchedulePage",
  secrets: "SecretsPage",
  webhooks: "WebhooksPage",
  "webhooks/:id": "WebhookPage",
  usage: "UsagePage",
  queue: "QueuePage",
  workers: "WorkersPage",
  tenants: "TenantsPage",
  keys: "KeysPage",
};
const LATER_PAGES = Object.entries(LATER).map(
  ([path, name]) => [path, lazy(() => import("./later.js").then((pages) => pages[name]))] as const,
);

function App() {
  const [error, setError] = useState<unknown>();
  const [refusal, setRefusal] = useState<unknown>();
  useEffect(() => {
    const code = takeCode();
    // If the code is no longer valid, an existing session stays in use.
    const onRefused = (error: unknown) => {
      setRefusal(error);
      return restore();
    };
    (code === undefined ? restore() : signIn({ code }).catch(onRefused)).catch(setError);
  }, []);
  if (error !== undefined) return <ProblemBox error={error} retry={() => location.reload()} />;
  if (me.value === undefined) return <Skeleton />;
  if (me.value === null || isSignedOut.value) return <SignIn refusal={refusal} />;
  return (
    <LocationProvider scope="/console">
      <Shell>
        <Router onRouteChange={() => scrollTo(0, 0)}>
          <Route path="/console/" component={ToJobs} />
          <Route path="/console/jobs" component={JobsPage} />
          <Route path="/console/jobs/:id" component={JobPage} />
          <Route path="/console/approvals" component={ApprovalsPage} />
          {LATER_PAGES.map(([path, page]) => (
            <Route key={path} path={`/console/${path}`} component={page} />
          ))}
          <Route default component={NotFound} />
        </Router>
      </Shell>
    </LocationProvider>
  );
}

function ToJobs() {
  const { route } = useLocation();
  useEffect(() => route("/console/jobs", true), []);
  return null;
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty icon="search" title="This page does not exist">
        <a class="button" href="/console/jobs">
          Go to jobs
        </a>
      </Empty>
    </Page>
  );
}

applyTheme();
listen();
const root = document.getElementById("app");
if (root) render(<App />, root);
