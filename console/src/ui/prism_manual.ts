/** Tells Prism, before it is loaded, to leave the page alone: it would set HTML. */

Object.assign(globalThis, { Prism: { manual: true } });
