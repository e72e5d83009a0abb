/** Client of Skillet, a self-hosted HTTP API that runs AI agent jobs and returns files. */

export { Client, type NewJob, type RunOptions, type SubmitOptions } from "./client.js";
export type { ConnectionOptions } from "./connection.js";
export { ApiError, ChecksumError, JobFailed, StreamError, WebhookError } from "./errors.js";
export type { EventsOptions, TenantEvent } from "./events.js";
export type { FollowOptions } from "./follow.js";
export type { Timing } from "./retry.js";
export type { components, operations, paths } from "./schema.js";
export * from "./types.js";
export type { Progress, UploadOptions } from "./upload.js";
export { verifyWebhook } from "./webhook.js";
