/** Error messages with the details of the service's problem. */

import type { ComponentChildren } from "preact";
import { ApiError } from "../api.js";
import type { Resource } from "../resource.js";
import { Icon } from "./icon.js";
import { type Above, Page } from "./page.js";

export function ProblemBox({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === undefined || error === null) return null;
  const problem = error instanceof ApiError ? error.problem : undefined;
  const text = problem?.detail ?? (error instanceof TypeError ? "The service does not respond." : String(error));
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p class="lines">{text}</p>
        {problem?.errors && (
          <ul>
            {problem.errors.map(({ pointer, detail }) => (
              <li key={pointer}>
                <code>{pointer}</code> {detail}
              </li>
            ))}
          </ul>
        )}
        {problem && (
          <p class="fine">
            <code>{problem.code}</code>
            {problem.request_id && (
              <>
                {" "}
                · request <code>{problem.request_id}</code>
              </>
            )}
          </p>
        )}
      </div>
      {retry && (
        <button class="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Returns the error of the job field at a JSON pointer. */
export type ErrorAt = (pointer: string) => string | undefined;

/** Returns the error of the field at a JSON pointer, or of a field below it. */
export function fieldError(error: unknown, pointer: string): string | undefined {
  const errors = error instanceof ApiError ? error.problem?.errors : undefined;
  return errors?.find((it) => it.pointer === pointer || it.pointer.startsWith(`${pointer}/`))?.detail;
}

interface LoadedProps<T> {
  resource: Resource<T>;
  children: (data: T) => ComponentChildren;
  /** The parent page, for a view that is a whole page. */
  above?: Above;
}

/** The view of a resource, once it is loaded. If a reload fails, the data stays, with the error above it. */
export function Loaded<T>({ resource, children, above }: LoadedProps<T>) {
  const data = resource.data.value;
  const error = resource.error.value;
  const isUnknown = error instanceof ApiError && error.status === 404;
  const isShown = data !== undefined && !isUnknown;
  const isQuiet = error === undefined || (error instanceof TypeError && isShown);
  const problem = !isQuiet && <ProblemBox error={error} retry={() => void resource.reload()} />;
  if (isShown) {
    return (
      <>
        {problem}
        {children(data)}
      </>
    );
  }
  const substitute = problem || <Skeleton />;
  if (!above) return substitute;
  const title = error === undefined ? "Loading…" : isUnknown ? "Not found" : "Not available";
  return (
    <Page title={title} above={above}>
      {substitute}
    </Page>
  );
}

export function Skeleton() {
  return (
    <div class="skeleton" aria-label="Loading" role="status">
      <i />
      <i />
      <i />
      <i />
    </div>
  );
}
