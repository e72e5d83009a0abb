/** The errors of the client. A connection that cannot be made is a `TypeError` of `fetch`. */

import { retryAfterMs } from "./retry.js";
import type { Job, Problem } from "./types.js";

/** The service refused a request. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status. */
  readonly status: number;
  /** The problem's code, for programs. Absent, like the problem, if the answer is not the service's own. */
  readonly code: string | undefined;
  readonly problem: Problem | undefined;
  /** Milliseconds until the next attempt, if the service names them. */
  readonly retryAfterMs: number | undefined;

  constructor(response: Response, body: unknown) {
    const isProblem = typeof body === "object" && body !== null && "code" in body && "detail" in body;
    const problem = isProblem ? (body as Problem) : undefined;
    const fields = problem?.errors?.map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`) ?? [];
    super((problem?.detail ?? `the service answered with status ${response.status}`) + fields.join(""));
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

/** The content that arrived does not have the SHA-256 of its asset. */
export class ChecksumError extends Error {
  override readonly name = "ChecksumError";
}

/** The answer to a request for an event stream is something else, such as the page of a proxy. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(contentType: string) {
    const remedy = "check the URL, and that no proxy answers instead of the service";
    super(`the answer is not an event stream but ${contentType}: ${remedy}`);
  }
}

/** A webhook is not signed with the secret, or its time is too far from now. Answer it with status 400. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

/** The data of a successful request. Any other is an `ApiError`. */
export function unwrap<T>(result: { data?: T; error?: unknown; response: Response }): T {
  if (!result.response.ok) throw new ApiError(result.response, result.error);
  return result.data as T;
}
