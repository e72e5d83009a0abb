/** Tests of the settings of agents. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "../src/view/agents.js";

// The client takes the address of the service from the page.
Object.assign(globalThis, { location: { origin: "http://localhost" } });
const { settingsOf } = await import("../src/view/agent_editor.js");
const { textOf } = await import("../src/view/agent_changes.js");

const output_schema = { properties: { any: {}, none: { const: "" } }, required: [] } as unknown as object;
const limits = { timeout_seconds: 60, max_iterations: null, max_tokens: null };
const agent = {
  ...{
    name: "a",
    version: 2,
    created_at: null,
    updated_at: null,
    soul: "You are brief.",
    model: null,
    instructions: "",
  },
  ...{
    tools: [],
    skills: [],
    secrets: [],
    mcp_servers: [],
    network: "none",
    hooks: { confirm: [] },
    limits,
    output_schema,
  },
} as unknown as Agent;

test("an agent that is saved keeps its empty list of tools and its result schema", () => {
  assert.deepEqual(settingsOf(agent), {
    soul: "You are brief.",
    network: "none",
    limits: { timeout_seconds: 60 },
    tools: [],
    output_schema,
  });
});

test("the changes of an agent show an empty list of tools and all parts of the result schema", () => {
  const lines = textOf(agent).split("\n");
  assert.deepEqual(lines.slice(0, 5), [
    "soul: You are brief.",
    "network: none",
    "limits.timeout_seconds: 60",
    "tools: none",
    "output_schema:",
  ]);
  assert.deepEqual(JSON.parse(lines.slice(5).join("\n")), output_schema);
});
