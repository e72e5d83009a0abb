/** The pages of the conversations: the list, and one conversation with a message box. */

import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { allPages, api, call, client, requestKey, type Schemas } from "../api.js";
import { useResource } from "../resource.js";
import { printed } from "../transcript/summary.js";
import { ListPage } from "../ui/list.js";
import { Markdown } from "../ui/markdown.js";
import { attempt } from "../ui/notice.js";
import { Empty, NewButton, Page, Time } from "../ui/page.js";
import { Loaded, ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";
import { Terminal } from "../ui/terminal.js";

const ABOVE = { title: "Conversations", href: "/console/conversations" };

type MessageContent = Schemas["MessageContent"];

export function ConversationsPage() {
  const { route } = useLocation();
  const load = () => allPages((query) => call(api.GET("/v1/conversations", { params: { query } })));
  const resource = useResource("conversations", load, { on: (event) => event.conversation_id !== null });
  const start = () =>
    attempt(async () => {
      const { id } = await call(api.POST("/v1/conversations", { body: {} }));
      route(`/console/conversations/${id}`);
    });
  const button = <NewButton title="New conversation" onClick={() => void start()} />;
  return (
    <ListPage
      title="Conversations"
      about="Jobs of an agent that share messages and files."
      actions={button}
      resource={resource}
      keyOf={({ id }) => id}
      columns={[
        {
          name: "Conversation",
          cell: (it) => <a href={`/console/conversations/${it.id}`}>{titleOf(it)}</a>,
          isMain: true,
        },
        { name: "Agent", cell: (it) => it.agent, isOptional: true },
        { name: "External id", cell: (it) => it.external_id ?? <span class="none">–</span>, isOptional: true },
        { name: "Created", cell: (it) => <Time at={it.created_at} />, isNumber: true },
      ]}
      empty={
        <Empty icon="conversations" title="No conversations yet">
          {button}
        </Empty>
      }
    />
  );
}

export function ConversationPage() {
  const id = useRoute().params["id"] ?? "";
  const params = { path: { conversation_id: id }, query: { limit: 100 } };
  const load = () => call(api.GET("/v1/conversations/{conversation_id}", { params }));
  const resource = useResource(`conversation:${id}`, load, { on: (event) => event.conversation_id === id });
  return (
    <Loaded resource={resource} above={ABOVE}>
      {(conversation) => (
        <Page
          title={titleOf(conversation)}
          above={ABOVE}
          about={
            <>
              Agent <a href={`/console/agents/${conversation.agent}`}>{conversation.agent}</a>
              {conversation.external_id && ` · ${conversation.external_id}`}
            </>
          }
          actions={
            <a class="button" href={`/console/jobs?conversation_id=${id}`}>
              Show jobs
            </a>
          }
        >
          <div class="messages">
            {conversation.messages.data.map(({ job_id, seq, said }) => (
              <Message key={`${job_id}${seq}`} said={said} job={job_id} />
            ))}
            {conversation.messages.data.length === 0 && <p class="fine">No messages yet.</p>}
            <Composer conversation={id} agent={conversation.agent} sent={resource.reload} />
          </div>
        </Page>
      )}
    </Loaded>
  );
}

/** Returns the title of a conversation, or its external id. */
function titleOf({ title, external_id: name }: Schemas["Conversation"]): string {
  return title ?? name ?? "New conversation";
}

function Message({ said, job }: { said: MessageContent; job: string }) {
  if (said.role === "tool") {
    return (
      <details class="said">
        <summary>Tool output · {said.outcome}</summary>
        <Terminal text={printed(said.output)} />
      </details>
    );
  }
  if (said.role === "assistant") {
    const text = said.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
    const calls = said.content.flatMap((block) => (block.type === "tool_call" ? [block.tool] : []));
    return (
      <div class="said">
        {text && <Markdown text={text} />}
        {calls.length > 0 && <p class="fine">Called {calls.join(", ")}</p>}
      </div>
    );
  }
  return (
    <div class={`said is-${said.role}`}>
      <Markdown text={said.text} />
      {said.role === "user" && (
        <a class="fine" href={`/console/jobs/${job}`}>
          Open the job
        </a>
      )}
    </div>
  );
}

interface ComposerProps {
  conversation: string;
  agent: string;
  sent: () => Promise<void>;
}

function Composer({ conversation, agent, sent }: ComposerProps) {
  const [prompt, setPrompt] = useState("");
  const [model, setModel] = useState("");
  const { submit, error, isSending } = useSubmit(async () => {
    const job = { conversation_id: conversation, agent, prompt, ...(model ? { model } : {}) };
    await client.submit(job, { idempotencyKey: requestKey() });
    setPrompt("");
    await sent();
  });
  const onKeyDown = (event: KeyboardEvent) =>
    void (event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event));
  return (
    <form class="stack composer" onSubmit={submit}>
      <ProblemBox error={error} />
      <textarea
        class="control"
        rows={3}
        aria-label="Message"
        placeholder="Continue the conversation"
        value={prompt}
        onInput={(event) => setPrompt(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        required
      />
      <div class="row">
        <input
          class="control"
          aria-label="Model"
          placeholder="Model of the agent"
          value={model}
          onInput={(event) => setModel(event.currentTarget.value)}
        />
        <span class="fine is-pushed">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
        <button class="button is-accent" disabled={isSending}>
          Send
        </button>
      </div>
    </form>
  );
}
