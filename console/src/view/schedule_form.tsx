/** A schedule that is made or changed: when it runs, with its next times, and its job. */

import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { notify } from "../ui/notice.js";
import { Field } from "../ui/page.js";
import { fieldError, ProblemBox } from "../ui/problem.js";
import { bodyOfDraft, emptyJob, JobFields, useDraft } from "./job_fields.js";
import { NextTimes, type Schedule } from "./schedules.js";

type Settings = Omit<Schemas["CreateSchedule"], "job">;
type Preview = Schemas["PreviewSchedule"];

/** While somebody types, the times are not asked for. */
const TYPING_MS = 250;

export function ScheduleForm({ schedule }: { schedule: Schedule | null }) {
  const { route } = useLocation();
  const draft = useDraft(schedule?.job ?? emptyJob());
  const [settings, setSettings] = useState<Settings>(() => settingsOf(schedule));
  const [error, setError] = useState<unknown>();
  const set = (changes: Partial<Settings>) => setSettings({ ...settings, ...changes });
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    const body = { ...settings, job: bodyOfDraft(draft) };
    try {
      const { id } = await (schedule
        ? call(api.PATCH("/v1/schedules/{schedule_id}", { params: { path: { schedule_id: schedule.id } }, body }))
        : call(api.POST("/v1/schedules", { body })));
      notify(schedule ? "Saved" : `Created ${settings.name}`);
      route(`/console/schedules/${id}`);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <form class="stack new-job" onSubmit={submit}>
      <Field label="Name" error={fieldError(error, "/name")}>
        <input
          class="control"
          placeholder="Morning report"
          value={settings.name}
          onInput={({ currentTarget }) => set({ name: currentTarget.value })}
          required
        />
      </Field>
      <Timing settings={settings} set={set} error={error} />
      <Field label="If a job of an earlier run has not ended" error={fieldError(error, "/overlap")}>
        <select
          class="control"
          value={settings.overlap}
          onChange={({ currentTarget }) => set({ overlap: currentTarget.value as Schedule["overlap"] })}
        >
          <option value="skip">Skip the run</option>
          <option value="queue">Wait for the end of that job</option>
          <option value="cancel_running">Cancel that job</option>
        </select>
      </Field>
      <Field label="Times that were missed while no worker was there" error={fieldError(error, "/catch_up")}>
        <select
          class="control"
          value={settings.catch_up}
          onChange={({ currentTarget }) => set({ catch_up: currentTarget.value as Schedule["catch_up"] })}
        >
          <option value="one">Run the latest</option>
          <option value="all">Run the latest ten</option>
          <option value="none">Skip them</option>
        </select>
      </Field>
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
            <option value="cron">At times of a calendar</option>
            <option value="interval">At an interval</option>
          </select>
        </Field>
        {isInterval ? (
          <Field label="Seconds" error={problem("/interval_seconds")}>
            <input
              class="control"
              type="number"
              min={10}
              value={interval_seconds}
              onInput={({ currentTarget }) => set({ interval_seconds: Number(currentTarget.value) })}
              required
            />
          </Field>
        ) : (
          <>
            <Field label="Cron pattern" error={problem("/cron")} hint="Minute, hour, day, month, weekday.">
              <input
                class="control is-code"
                value={cron ?? ""}
                onInput={({ currentTarget }) => set({ cron: currentTarget.value })}
                required
              />
            </Field>
            <Field label="Time zone" error={problem("/time_zone")}>
              <input
                class="control"
                list="zones"
                value={time_zone ?? ""}
                onInput={({ currentTarget }) => set({ time_zone: currentTarget.value })}
                required
              />
            </Field>
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

/** The next times as the service counts them. */
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
