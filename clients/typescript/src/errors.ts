/** The errors of the client. A failed connection is a `TypeError` from `fetch`. */

import { retryAfterMs } from "./retry.js";
import type { Job, Problem } from "./types.js";

/** An error response of the service. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status. */
  readonly status: number;
  /** The machine-readable code. Like `problem`, undefined if the response does not come from the service itself. */
  readonly code: string | undefined;
  readonly problem: Problem | undefined;
  /** The delay from the `Retry-After` header in milliseconds, if present. */
  readonly retryAfterMs: number | undefined;

  constructor(response: Response, body: unknown) {
    const isProblem = typeof body === "object" && body !== null && "code" in body && "detail" in body;
    const problem = isProblem ? (body as Problem) : undefined;
    const fields = problem?.errors?.map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`) ?? [];
    super((problem?.detail ?? `the service responded with status ${response.status}`) + fields.join(""));
    this.status = response.status;
    this.code = problem?.code;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs(response);
  }
}

/** A job failed or was cancelled. */
export class JobFailed extends Error {
  override readonly name = "JobFailed";

  constructor(readonly job: Job) {
    super(job.error ? `${job.error.code}: ${job.error.message}` : `the job is ${job.status}`);
  }
}

/** The SHA-256 of the downloaded content does not match the asset. */
export class ChecksumError extends Error {
  override readonly name = "ChecksumError";
}

/** The response is not an event stream, for example an HTML page of a proxy. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(contentType: string) {
    const remedy = "check the URL, and that no proxy responds instead of the service";
    super(`the response is not an event stream but ${contentType}: ${remedy}`);
  }
}

/** A webhook has no valid signature, or its timestamp is too far from now. Respond with status 400. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

/** Returns the data of a successful response. Throws `ApiError` for any other response. */
export function unwrap<T>(result: { data?: T; error?: unknown; response: Response }): T {
  if (!result.response.ok) throw new ApiError(result.response, result.error);
  return result.data as T;
}
