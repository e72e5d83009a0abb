/** The start of the page: session, theme, routes. */

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

/** A page of the part that is loaded later. */
const later = (name: keyof typeof import("./later.js")) =>
  lazy(() => import("./later.js").then((pages) => pages[name]));

const AgentPage = later("AgentPage");
const AgentsPage = later("AgentsPage");
const ConversationPage = later("ConversationPage");
const ConversationsPage = later("ConversationsPage");
const NewJobPage = later("NewJobPage");
const SecretsPage = later("SecretsPage");
const SkillPage = later("SkillPage");
const SkillsPage = later("SkillsPage");
const KeysPage = later("KeysPage");
const QueuePage = later("QueuePage");
const SchedulePage = later("SchedulePage");
const SchedulesPage = later("SchedulesPage");
const TenantsPage = later("TenantsPage");
const UsagePage = later("UsagePage");
const WebhookPage = later("WebhookPage");
const WebhooksPage = later("WebhooksPage");
const WorkersPage = later("WorkersPage");

function App() {
  const [error, setError] = useState<unknown>();
  const [refusal, setRefusal] = useState<unknown>();
  useEffect(() => {
    const code = takeCode();
    // Who has a session already keeps it, if the code is not valid any more.
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
          <Route path="/console/new" component={NewJobPage} />
          <Route path="/console/approvals" component={ApprovalsPage} />
          <Route path="/console/conversations" component={ConversationsPage} />
          <Route path="/console/conversations/:id" component={ConversationPage} />
          <Route path="/console/agents" component={AgentsPage} />
          <Route path="/console/agents/:name" component={AgentPage} />
          <Route path="/console/skills" component={SkillsPage} />
          <Route path="/console/skills/:name" component={SkillPage} />
          <Route path="/console/schedules" component={SchedulesPage} />
          <Route path="/console/schedules/:id" component={SchedulePage} />
          <Route path="/console/secrets" component={SecretsPage} />
          <Route path="/console/webhooks" component={WebhooksPage} />
          <Route path="/console/webhooks/:id" component={WebhookPage} />
          <Route path="/console/usage" component={UsagePage} />
          <Route path="/console/queue" component={QueuePage} />
          <Route path="/console/workers" component={WorkersPage} />
          <Route path="/console/tenants" component={TenantsPage} />
          <Route path="/console/keys" component={KeysPage} />
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
      <Empty icon="search" title="There is no such page">
        <a class="button" href="/console/jobs">
          To the jobs
        </a>
      </Empty>
    </Page>
  );
}

applyTheme();
listen();
const root = document.getElementById("app");
if (root) render(<App />, root);
