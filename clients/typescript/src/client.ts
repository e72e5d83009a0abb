/** The client: the verbs, and all operations of the service beside them. */

import type { Client as Api } from "openapi-fetch";
import { type Connection, connect, type ConnectionOptions } from "./connection.js";
import { download } from "./download.js";
import { JobFailed, unwrap } from "./errors.js";
import { events, type EventsOptions, type TenantEvent } from "./events.js";
import { follow, type FollowOptions } from "./follow.js";
import type { paths } from "./schema.js";
import { isTerminal, type Approval, type Asset, type CreateJob } from "./types.js";
import type { Job, JobEvent, Output } from "./types.js";
import { upload, type UploadOptions } from "./upload.js";

/** A job to be done, with files to start from. */
export interface NewJob extends CreateJob {
  /** Files to upload: a `File`, a `Blob`, or in Node.js a path. The service fetches `https://…`. */
  files?: (string | Blob)[];
}

export interface SubmitOptions extends UploadOptions {
  /** Names the request: the same key never creates a second job. Random if not given. */
  idempotencyKey?: string;
}

export interface RunOptions extends SubmitOptions {
  /** Called with each event, in order. The next event waits for its promise. */
  onEvent?: (event: JobEvent) => void | Promise<void>;
}

/** A client of one service. */
export class Client {
  readonly #connection: Connection;
  /** All operations of the service, typed, as openapi-fetch offers them. */
  readonly api: Api<paths>;

  constructor(options: ConnectionOptions = {}) {
    this.#connection = connect(options);
    this.api = this.#connection.api;
  }

  /** Submits a job, follows it to its end and returns it. A job that does not complete is a `JobFailed`. */
  async run(job: NewJob, options: RunOptions = {}): Promise<Job> {
    const { onEvent, signal } = options;
    let ended = await this.submit(job, options);
    for await (const event of this.follow(ended.id, { signal, deltas: onEvent !== undefined })) {
      await onEvent?.(event);
      if (isTerminal(event)) ended = event.data;
    }
    if (ended.status !== "completed") throw new JobFailed(ended);
    return ended;
  }

  /** Uploads the files and creates the job. Then the job runs, whatever happens to this program. */
  async submit(job: NewJob, options: SubmitOptions = {}): Promise<Job> {
    const { files = [], inputs = [], ...rest } = job;
    const all = [...inputs];
    for (const file of files) {
      const isUrl = typeof file === "string" && /^https?:\/\//.test(file);
      all.push(isUrl ? { url: file } : { asset_id: (await this.upload(file, options)).id });
    }
    // `crypto.randomUUID` exists only with https.
    const key = options.idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join("-");
    const params = { header: { "Idempotency-Key": key } };
    return unwrap(
      await this.api.POST("/v1/jobs", { params, body: { ...rest, inputs: all }, signal: options.signal ?? null }),
    );
  }

  /** Uploads a `File`, a `Blob`, or in Node.js the file at a path. */
  upload(file: string | Blob, options?: UploadOptions): Promise<Asset> {
    return upload(this.#connection, file, options);
  }

  /** Yields each event of a job's log once, and ends after the event that ends the log. */
  follow(job: Job | string, options?: FollowOptions): AsyncGenerator<JobEvent, void, undefined> {
    return follow(this.#connection, typeof job === "string" ? job : job.id, options);
  }

  /** Yields the milestones of all jobs, each once, with cursors to continue from. Only the caller ends it. */
  events(options?: EventsOptions): AsyncGenerator<TenantEvent, void, undefined> {
    return events(this.#connection, options);
  }

  /** Saves an asset as a file or in a folder (Node.js), or returns its content. The SHA-256 is checked first. */
  download(asset: Asset | Output, to: string, signal?: AbortSignal): Promise<string>;
  download(asset: Asset | Output, to?: undefined, signal?: AbortSignal): Promise<Blob>;
  download(from: Asset | Output, to?: string, signal?: AbortSignal): Promise<Blob | string> {
    return download(this.#connection, "asset" in from ? from.asset : from, to, signal);
  }

  /** Allows a tool call that waits for a person. */
  approve(approval: string, reason?: string): Promise<Approval> {
    return this.#resolve(approval, "approve", reason);
  }

  /** Refuses a tool call that waits for a person. The model receives the reason. */
  deny(approval: string, reason?: string): Promise<Approval> {
    return this.#resolve(approval, "deny", reason);
  }

  async #resolve(id: string, decision: "approve" | "deny", reason?: string): Promise<Approval> {
    const params = { path: { approval_id: id } };
    const body = reason === undefined ? { decision } : { decision, reason };
    const result = await this.api.POST("/v1/approvals/{approval_id}", { params, body });
    if (result.response.status !== 409) return unwrap(result);
    // The first attempt may have counted, and its answer was lost.
    const approval = unwrap(await this.api.GET("/v1/approvals/{approval_id}", { params }));
    return approval.status === (decision === "approve" ? "approved" : "denied") ? approval : unwrap(result);
  }
}
