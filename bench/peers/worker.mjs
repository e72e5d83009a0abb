// A process with one worker, from the module that its argument names. It reports the start of its first job to its
// parent process and stops when the parent sends a message.

import { pathToFileURL } from "node:url";

const { worker } = await import(pathToFileURL(process.argv[2]));
let isFirst = true;
const stop = await worker(() => {
  if (isFirst) {
    isFirst = false;
    process.send(Date.now() / 1000);
  }
});
process.once("message", async () => {
  await stop();
  process.exit();
});
