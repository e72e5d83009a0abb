/** The session of the user. */

import { computed, signal } from "@preact/signals";
import { api, ApiError, call, isSignedOut, type Schemas } from "./api.js";
import { forgetAll } from "./resource.js";

/** The tenant and API key of the session; null without a session, undefined until it is loaded. */
export const me = signal<Schemas["Me"] | null>();
export const isAdmin = computed(() => me.value?.key.scopes.includes("admin") ?? false);

export async function restore(): Promise<void> {
  try {
    me.value = await call(api.GET("/v1/me"));
    isSignedOut.value = false;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    me.value = null;
  }
}

/** Starts a session with an API key or with a one-time code of `skillet open`. */
export async function signIn(body: Schemas["CreateSession"]): Promise<void> {
  await call(api.POST("/v1/session", { body }));
  forgetAll();
  await restore();
}

/** Returns the one-time code that `skillet open` puts into the address, and removes it from there. */
export function takeCode(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export async function signOut(): Promise<void> {
  await call(api.DELETE("/v1/session"));
  forgetAll();
  me.value = null;
}
