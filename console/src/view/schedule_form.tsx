/** The form for a schedule: its recurrence, a preview of its next times, and its job. */

import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { TextField } from "../ui/fields.js";
import { notify } from "../ui/notice.js";
import { Field } from "../ui/page.js";
import { fieldError, ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";
import { bodyOfDraft, emptyJob, JobFields, useDraft } from "./job_fields.js";
import { NextTimes, type Schedule } from "./schedules.js";

type Settings = Omit<Schemas["CreateSchedule"], "job">;
type Preview = Schemas["PreviewSchedule"];

/** The delay after the last change before the next times are requested. */
const TYPING_MS = 250;

export function ScheduleForm({ schedule }: { schedule: Schedule | null }) {
  const { route } = useLocation();
  const draft = useDraft(schedule?.job ?? emptyJob());
  const [settings, setSettings] = useState<Settings>(() => settingsOf(schedule));
  const set = (changes: Partial<Settings>) => setSettings({ ...settings, ...changes });
  const { submit, error } = useSubmit(async () => {
    const body = { ...settings, job: bodyOfDraft(draft) };
    const { id } = await (schedule
      ? call(api.PATCH("/v1/schedules/{schedule_id}", { params: { path: { schedule_id: schedule.id } }, body }))
      : call(api.POST("/v1/schedules", { body })));
    notify(schedule ? "Saved" : `Created ${settings.name}`);
    route(`/console/schedules/${id}`);
  });
  const choice = <K extends keyof Settings>(name: K, label: string, choices: Record<string, string>) => (
    <Field label={label} error={fieldError(error, `/${name}`)}>
      <select
        class="control"
        value={settings[name] as string}
        onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
      >
        {Object.entries(choices).map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </Field>
  );
  return (
    <form class="stack new-job" onSubmit={submit}>
      <TextField
        label="Name"
        error={fieldError(error, "/name")}
        placeholder="Morning report"
        value={settings.name}
        set={(name) => set({ name })}
        required
      />
      <Timing settings={settings} set={set} error={error} />
      <div class="two">
        {choice("overlap", "If an earlier job is still running", OVERLAP)}
        {choice("catch_up", "Missed times", CATCH_UP)}
      </div>
      <h2>Job</h2>
      <JobFields draft={draft} startsNow={false} errorAt={(pointer) => fieldError(error, `/job${pointer}`)} />
      <ProblemBox error={error} />
      <div class="row form-foot">
        <button class="button is-accent" disabled={draft.isUploading.value}>
          {schedule ? "Save" : "Create"}
        </button>
        <a class="button is-quiet" href={`/console/schedules${schedule ? `/${schedule.id}` : ""}`}>
          Back
        </a>
      </div>
    </form>
  );
}

interface TimingProps {
  settings: Settings;
  set: (changes: Partial<Settings>) => void;
  error: unknown;
}

function Timing({ settings, set, error }: TimingProps) {
  const { cron, time_zone, interval_seconds } = settings;
  const isInterval = typeof interval_seconds === "number";
  const preview = usePreview(settings);
  const problem = (pointer: string) => fieldError(error, pointer) ?? fieldError(preview.error, pointer);
  return (
    <>
      <div class="three">
        <Field label="Runs">
          <select
            class="control"
            value={isInterval ? "interval" : "cron"}
            onChange={({ currentTarget }) => set(currentTarget.value === "cron" ? CALENDAR : INTERVAL)}
          >
            <option value="cron">On a cron schedule</option>
            <option value="interval">At a fixed interval</option>
          </select>
        </Field>
        {isInterval ? (
          <TextField
            label="Seconds"
            error={problem("/interval_seconds")}
            type="number"
            min={10}
            value={String(interval_seconds)}
            set={(seconds) => set({ interval_seconds: Number(seconds) })}
            required
          />
        ) : (
          <>
            <TextField
              label="Cron pattern"
              error={problem("/cron")}
              hint="Minute, hour, day, month, weekday."
              class="control is-code"
              value={cron ?? ""}
              set={(pattern) => set({ cron: pattern })}
              required
            />
            <TextField
              label="Time zone"
              error={problem("/time_zone")}
              list="zones"
              value={time_zone ?? ""}
              set={(zone) => set({ time_zone: zone })}
              required
            />
            <datalist id="zones">
              {Intl.supportedValuesOf("timeZone").map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
          </>
        )}
      </div>
      {preview.times.length > 0 && (
        <div class="field" aria-live="polite">
          <span class="label">Next times</span>
          <NextTimes times={preview.times} />
        </div>
      )}
    </>
  );
}

/** The choices for a run that is due while the job of an earlier run has not ended. */
export const OVERLAP: Record<Schedule["overlap"], string> = {
  skip: "Skip the run",
  queue: "Wait for the end of that job",
  cancel_running: "Cancel that job",
};
/** The choices for runs that were missed because no worker was available. */
export const CATCH_UP: Record<Schedule["catch_up"], string> = {
  one: "Run the latest",
  all: "Run the latest ten",
  none: "Skip them",
};
const CALENDAR: Partial<Settings> = { cron: "0 9 * * 1-5", time_zone: localZone(), interval_seconds: null };
const INTERVAL: Partial<Settings> = { cron: null, time_zone: null, interval_seconds: 3600 };

function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

function settingsOf(schedule: Schedule | null): Settings {
  if (!schedule) return { name: "", ...CALENDAR, overlap: "skip", catch_up: "one" };
  const { name, cron, time_zone, interval_seconds, overlap, catch_up } = schedule;
  return { name, cron, time_zone, interval_seconds, overlap, catch_up };
}

/** Returns the next times, computed by the service. */
function usePreview({ cron, time_zone, interval_seconds }: Settings): { times: string[]; error: unknown } {
  const [preview, setPreview] = useState<{ times: string[]; error: unknown }>({ times: [], error: undefined });
  useEffect(() => {
    let isStale = false;
    const body = Object.fromEntries(
      Object.entries({ cron, time_zone, interval_seconds }).filter(([, value]) => value !== null),
    ) as Preview;
    const ask = async () => {
      try {
        const { next_times: times } = await call(api.POST("/v1/schedules/preview", { body }));
        if (!isStale) setPreview({ times, error: undefined });
      } catch (error) {
        if (!isStale) setPreview({ times: [], error });
      }
    };
    const timer = setTimeout(() => void ask(), TYPING_MS);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [cron, time_zone, interval_seconds]);
  return preview;
}
