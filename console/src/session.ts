/** Who is signed in. */

import { computed, signal } from "@preact/signals";
import { api, ApiError, call, isSignedOut, type Schemas } from "./api.js";
import { forgetAll } from "./resource.js";

/** The caller; null if nobody is signed in, undefined until that is known. */
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

/** Begins a session with a key, or with a one-time code of `skillet open`. */
export async function signIn(body: Schemas["CreateSession"]): Promise<void> {
  await call(api.POST("/v1/session", { body }));
  forgetAll();
  await restore();
}

/** Takes the code out of the address, where `skillet open` puts it. */
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
