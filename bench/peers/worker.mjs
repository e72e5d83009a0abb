// A process with one worker: that of the module which is named. It tells its parent when the first job begins, and ends
// when it is told to.

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
