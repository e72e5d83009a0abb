/** The state of a transcript: attempts, turns, calls and notes. */

import type { Job, Schemas } from "../api.js";

export type CallStatus = "pending" | "running" | Schemas["ToolOutcome"];

export interface CallApproval {
  id: string;
  status: Schemas["ApprovalStatus"];
  expiresAt: string;
  by?: string | undefined;
  reason?: string | undefined;
}

export interface Call {
  id: string;
  seq: number;
  tool: string;
  input: unknown;
  status: CallStatus;
  /** The output so far, or the full output after the call has ended. */
  output: string;
  isTruncated: boolean;
  exitCode?: number | undefined;
  durationMs?: number | undefined;
  approval?: CallApproval | undefined;
}

/** One model reply with its tool calls. */
export interface Turn {
  kind: "turn";
  seq: number;
  at: string;
  text: string;
  reasoning: string;
  calls: Call[];
  /** Whether more content may follow. */
  isOpen: boolean;
  model?: string;
  usage?: Schemas["Tokens"];
}

export interface Note {
  kind: "note";
  seq: number;
  at: string;
  tone: "quiet" | "warning";
  text: string;
}

export interface AttemptStart {
  kind: "attempt";
  seq: number;
  at: string;
  number: number;
}

export interface NewFile {
  kind: "file";
  seq: number;
  at: string;
  output: Schemas["Output"];
}

export interface End {
  kind: "end";
  seq: number;
  at: string;
  job: Job;
}

export type Item = Turn | Note | AttemptStart | NewFile | End;

export interface Transcript {
  items: Item[];
  lastSeq: number;
  isOver: boolean;
}

export const EMPTY: Transcript = { items: [], lastSeq: 0, isOver: false };
