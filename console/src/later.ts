/** Pages in a separate bundle, loaded on demand. The main bundle has the pages for jobs and approvals. */

export { AgentPage, AgentsPage } from "./view/agents.js";
export { ConversationPage, ConversationsPage } from "./view/conversations.js";
export { KeysPage } from "./view/keys.js";
export { NewJobPage } from "./view/new_job.js";
export { QueuePage } from "./view/queue.js";
export { SchedulePage } from "./view/schedule.js";
export { SchedulesPage } from "./view/schedules.js";
export { SecretsPage } from "./view/secrets.js";
export { SkillPage, SkillsPage } from "./view/skills.js";
export { TenantsPage } from "./view/tenants.js";
export { UsagePage } from "./view/usage.js";
export { WebhookPage } from "./view/webhook.js";
export { WebhooksPage } from "./view/webhooks.js";
export { WorkersPage } from "./view/workers.js";
