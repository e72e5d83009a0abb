/** The pages of the skills: requirements, whether a worker meets them, and upload by drag and drop. */

import { useRoute } from "preact-iso";
import { useRef } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { duration } from "../format.js";
import { useResource } from "../resource.js";
import { isAdmin } from "../session.js";
import { Icon } from "../ui/icon.js";
import { Markdown } from "../ui/markdown.js";
import { DeleteButton } from "../ui/dialog.js";
import { attempt } from "../ui/notice.js";
import { ListPage } from "../ui/list.js";
import { Facts, Page, Split } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { SchemaTable } from "../ui/schema_table.js";
import { StatusBadge } from "../ui/status.js";
import { useSkills } from "./job_filters.js";

type Skill = Schemas["Skill"];

const ABOVE = { title: "Skills", href: "/console/skills" };

export function SkillsPage() {
  const resource = useSkills();
  const picker = useRef<HTMLInputElement>(null);
  const upload = async (file: File | undefined) => {
    if (!file) return;
    const form = new FormData();
    form.append("file", file, file.name);
    const request = { body: { file: "" }, bodySerializer: () => form };
    await attempt(() => call(api.POST("/v1/skills", request)), `Uploaded ${file.name}`);
    await resource.reload();
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    void upload(event.dataTransfer?.files[0]);
  };
  const actions = (
    <>
      <input
        ref={picker}
        type="file"
        class="offscreen"
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => void upload(event.currentTarget.files?.[0])}
      />
      <button class="button" onClick={() => picker.current?.click()}>
        <Icon name="upload" />
        Upload a skill
      </button>
    </>
  );
  return (
    <div onDragOver={(event) => event.preventDefault()} onDrop={onDrop}>
      <ListPage
        title="Skills"
        about="Instructions and programs for one kind of task. Drop an archive here to upload one."
        actions={actions}
        resource={resource}
        keyOf={({ name }) => name}
        columns={[
          { name: "Skill", cell: (it) => <a href={`/console/skills/${it.name}`}>{it.name}</a> },
          { name: "State", cell: (it) => <SkillState skill={it} /> },
          {
            name: "Outputs",
            cell: (it) => (
              <span class="icons" title={it.outputs.join(", ")}>
                {it.outputs.map((kind) => (
                  <Icon key={kind} name={kind} />
                ))}
              </span>
            ),
            isOptional: true,
          },
          {
            name: "Description",
            cell: (it) => <span class="fine">{it.description}</span>,
            isOptional: true,
            isWrapping: true,
          },
        ]}
      />
    </div>
  );
}

function SkillState({ skill }: { skill: Skill }) {
  if (skill.paused) return <StatusBadge status="waiting" word="paused" />;
  if (!skill.available) return <StatusBadge status="failed" word="unavailable" />;
  return <StatusBadge status="completed" word="ready" />;
}

export function SkillPage() {
  const name = useRoute().params["name"] ?? "";
  const path = { params: { path: { name } } };
  const resource = useResource(`skill:${name}`, () => call(api.GET("/v1/skills/{name}", path)));
  const pause = async ({ paused }: Skill) => {
    const act = () => (paused ? api.POST("/v1/skills/{name}/resume", path) : api.POST("/v1/skills/{name}/pause", path));
    await attempt(() => call<unknown>(act()), paused ? "Resumed" : "Paused");
    await resource.reload();
  };
  return (
    <Loaded resource={resource} above={ABOVE}>
      {(skill) => (
        <Page
          title={skill.title}
          above={ABOVE}
          about={skill.description}
          actions={
            <>
              {skill.origin === "uploaded" && (
                <DeleteButton
                  question={`Delete the skill ${skill.name}?`}
                  consequence="Submitted jobs keep it."
                  action={() => call<unknown>(api.DELETE("/v1/skills/{name}", path))}
                  then={ABOVE.href}
                />
              )}
              {isAdmin.value && (
                <button class="button" onClick={() => void pause(skill)}>
                  {skill.paused ? "Resume" : "Pause"}
                </button>
              )}
              <a class="button is-accent" href={`/console/new?skill=${skill.name}`}>
                Run a job
              </a>
            </>
          }
        >
          {skill.missing.length > 0 && (
            <div class="why">
              <Icon name="warning" />
              <div>
                <b>No worker has all programs of this skill.</b> Missing: <code>{skill.missing.join(", ")}</code>.
                Install them on a worker.
              </div>
            </div>
          )}
          <Split aside={<SkillFacts skill={skill} />}>
            <h2>Parameters</h2>
            <SchemaTable schema={skill.parameters} />
            <h2>Instructions for the model</h2>
            <Instructions name={skill.name} />
          </Split>
        </Page>
      )}
    </Loaded>
  );
}

function SkillFacts({ skill }: { skill: Skill }) {
  return (
    <>
      <h2>Details</h2>
      <Facts
        facts={[
          ["State", <SkillState skill={skill} />],
          ["Origin", skill.origin.replace("_", " ")],
          ["Version", skill.version],
          ["Outputs", skill.outputs.join(", ")],
          ["Network", skill.network],
          ["Time limit", duration(skill.timeout_seconds * 1000)],
          ["Secrets", skill.secrets.map((it) => it.name).join(", ")],
          ["Programs", Object.keys(skill.programs).join(", ")],
          ["Jobs", <a href={`/console/jobs?skill=${skill.name}`}>Show</a>],
        ]}
      />
    </>
  );
}

function Instructions({ name }: { name: string }) {
  const params = { path: { name } };
  const load = () => call(api.GET("/v1/skills/{name}/instructions", { params, parseAs: "text" }));
  return (
    <Loaded resource={useResource(`skill:${name}:instructions`, load)}>
      {(text) => (
        <div class="framed">
          <Markdown text={text} />
        </div>
      )}
    </Loaded>
  );
}
