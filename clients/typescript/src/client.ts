/** The client: its methods for jobs, files and approvals, and all operations of the service. */

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

/** A request for a new job, with its input files. */
export interface NewJob extends CreateJob {
  /** Input files: a `File`, a `Blob`, a path (Node.js), or an `http` or `https` URL that the service fetches. */
  files?: (string | Blob)[];
}

export interface SubmitOptions extends UploadOptions {
  /** The idempotency key. Repeated requests with the same key create only one job. The default is a random key. */
  idempotencyKey?: string;
}

export interface RunOptions extends SubmitOptions {
  /** Called with each event, in order. The next event waits until the returned promise resolves. */
  onEvent?: (event: JobEvent) => void | Promise<void>;
}

/** A client for one service. */
export class Client {
  readonly #connection: Connection;
  /** All operations of the service, as a typed openapi-fetch client. */
  readonly api: Api<paths>;

  constructor(options: ConnectionOptions = {}) {
    this.#connection = connect(options);
    this.api = this.#connection.api;
  }

  /** Submits a job, follows it to its end and returns it. Throws `JobFailed` if the job fails or is cancelled. */
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

  /**
   * Uploads the files, creates the job and returns it without waiting for its end. Retries after a lost response do not
   * create a second job. The job keeps running if this program exits.
   */
  async submit(job: NewJob, options: SubmitOptions = {}): Promise<Job> {
    const { files = [], inputs = [], ...rest } = job;
    const all = [...inputs];
    for (const file of files) {
      const isUrl = typeof file === "string" && /^https?:\/\//.test(file);
      all.push(isUrl ? { url: file } : { asset_id: (await this.upload(file, options)).id });
    }
    // Without https, browsers have no `crypto.randomUUID`.
    const key = options.idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join("-");
    const params = { header: { "Idempotency-Key": key } };
    return unwrap(
      await this.api.POST("/v1/jobs", { params, body: { ...rest, inputs: all }, signal: options.signal ?? null }),
    );
  }

  /** Uploads a `File`, a `Blob`, or the file at a path (Node.js). */
  upload(file: string | Blob, options?: UploadOptions): Promise<Asset> {
    return upload(this.#connection, file, options);
  }

  /** Yields each event of a job's log once, and ends after the last one. */
  follow(job: Job | string, options?: FollowOptions): AsyncGenerator<JobEvent, void, undefined> {
    return follow(this.#connection, typeof job === "string" ? job : job.id, options);
  }

  /** Yields each milestone of the tenant's jobs once, with cursors to continue from. Does not end by itself. */
  events(options?: EventsOptions): AsyncGenerator<TenantEvent, void, undefined> {
    return events(this.#connection, options);
  }

  /** Saves an asset to a file or folder (Node.js) and returns the path, or returns its content. Checks the SHA-256. */
  download(asset: Asset | Output, to: string, signal?: AbortSignal): Promise<string>;
  download(asset: Asset | Output, to?: undefined, signal?: AbortSignal): Promise<Blob>;
  download(from: Asset | Output, to?: string, signal?: AbortSignal): Promise<Blob | string> {
    return download(this.#connection, "asset" in from ? from.asset : from, to, signal);
  }

  /** Approves a tool call that waits for approval. */
  approve(approval: string, reason?: string): Promise<Approval> {
    return this.#resolve(approval, "approve", reason);
  }

  /** Denies a tool call that waits for approval. The model receives the reason. */
  deny(approval: string, reason?: string): Promise<Approval> {
    return this.#resolve(approval, "deny", reason);
  }

  async #resolve(id: string, decision: "approve" | "deny", reason?: string): Promise<Approval> {
    const params = { path: { approval_id: id } };
    const body = reason === undefined ? { decision } : { decision, reason };
    const result = await this.api.POST("/v1/approvals/{approval_id}", { params, body });
    if (result.response.status !== 409) return unwrap(result);
    // An earlier attempt may have succeeded although its response was lost.
    const approval = unwrap(await this.api.GET("/v1/approvals/{approval_id}", { params }));
    return approval.status === (decision === "approve" ? "approved" : "denied") ? approval : unwrap(result);
  }
}
