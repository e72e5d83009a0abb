/** The fields for the MCP servers of an agent. Each server is a program in the sandbox or a URL. */

import { useState } from "preact/hooks";
import type { Schemas } from "../api.js";
import { ListField, LongTextField, NumberField, TextField } from "../ui/fields.js";
import { Icon } from "../ui/icon.js";

type Server = Schemas["McpServer"];

interface McpServersProps {
  servers: Server[];
  set: (servers: Server[]) => void;
  error: string | undefined;
}

export function McpServers({ servers, set, error }: McpServersProps) {
  // Stable element keys: names change while they are edited, and indexes when a server is removed.
  const [keys, setKeys] = useState(() => servers.map((_, index) => index));
  const change = (at: number, server: Server) => set(servers.map((it, index) => (index === at ? server : it)));
  const add = () => {
    setKeys([...keys, Math.max(-1, ...keys) + 1]);
    set([...servers, { name: "", url: "" }]);
  };
  const remove = (at: number) => {
    setKeys(keys.filter((_, index) => index !== at));
    set(servers.filter((_, index) => index !== at));
  };
  return (
    <>
      {servers.map((server, at) => (
        <fieldset class="framed stack" key={keys[at]}>
          <legend class="offscreen">MCP server {server.name}</legend>
          <ServerFields server={server} set={(next) => change(at, next)} />
          <div class="row">
            <button type="button" class="button small is-quiet" onClick={() => remove(at)}>
              Remove {server.name}
            </button>
          </div>
        </fieldset>
      ))}
      {error && <span class="field-error">{error}</span>}
      <div class="row">
        <button type="button" class="button small" onClick={add}>
          <Icon name="plus" />
          Add a server
        </button>
      </div>
    </>
  );
}

function ServerFields({ server, set }: { server: Server; set: (server: Server) => void }) {
  const isProgram = Array.isArray(server.command);
  const change = (changes: Partial<Server>) => set({ ...server, ...changes });
  const switchTo = (kind: string) => {
    const { name, tools = null, timeout_seconds = null } = server;
    set({ name, tools, timeout_seconds, ...(kind === "program" ? { command: [] } : { url: "" }) });
  };
  return (
    <>
      <div class="three">
        <TextField label="Name" value={server.name} set={(name) => change({ name })} required />
        <div class="field">
          <label>
            <span class="label">Kind</span>
            <select
              class="control"
              value={isProgram ? "program" : "address"}
              onChange={({ currentTarget }) => switchTo(currentTarget.value)}
            >
              <option value="address">URL</option>
              <option value="program">Program in the sandbox</option>
            </select>
          </label>
        </div>
        <NumberField
          label="Call timeout in seconds"
          value={server.timeout_seconds}
          placeholder="60"
          set={(timeout_seconds) => change({ timeout_seconds })}
        />
      </div>
      {isProgram ? (
        <ListField
          label="Command"
          hint="The program and its arguments, one per line."
          isLines
          value={server.command}
          placeholder="python3"
          set={(command) => change({ command })}
        />
      ) : (
        <TextField label="URL" type="url" value={server.url ?? ""} set={(url) => change({ url })} required />
      )}
      <ListField
        label="Allowed tools"
        value={server.tools}
        placeholder="all"
        set={(tools) => change({ tools: tools.length > 0 ? tools : null })}
      />
      <PairsField
        key={String(isProgram)}
        label={isProgram ? "Variables" : "Headers"}
        value={(isProgram ? server.env : server.headers) ?? {}}
        set={(pairs) => change(isProgram ? { env: pairs } : { headers: pairs })}
      />
    </>
  );
}

interface PairsFieldProps {
  label: string;
  value: Record<string, string>;
  set: (value: Record<string, string>) => void;
}

/** A field for names with values, one pair per line. */
function PairsField({ label, value, set }: PairsFieldProps) {
  const [text, setText] = useState(() =>
    Object.entries(value)
      .map((pair) => pair.join("="))
      .join("\n"),
  );
  const change = (next: string) => {
    setText(next);
    const pairs = next.split("\n").map((line) => line.split(/=(.*)/s, 2).map((part) => part.trim()));
    set(Object.fromEntries(pairs.filter(([name]) => name).map(([name = "", its = ""]) => [name, its])));
  };
  const hint = "NAME=value, one per line. {{secret:NAME}} inserts a secret of the agent.";
  return <LongTextField label={label} hint={hint} class="control is-code" rows={2} value={text} set={change} />;
}
