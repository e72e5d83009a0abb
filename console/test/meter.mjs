/** Measurement of the CPU time of a page, which does not depend on the load of the machine. */

/** The CPU time of `calibrate` on the reference machine of the limits: two cores of 2.5 GHz. */
const REFERENCE_MS = 160;

/** Starts measuring a page. Times are milliseconds of CPU time of its main thread. */
export async function measure(context, page) {
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const read = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const value = (name) => metrics.find((it) => it.name === name).value;
    return {
      taskMs: value("TaskDuration") * 1000,
      scriptMs: value("ScriptDuration") * 1000,
      heapBytes: value("JSHeapUsedSize"),
    };
  };
  /** Collects garbage, so that the heap contains only objects in use. */
  const collect = () => session.send("HeapProfiler.collectGarbage");
  return { read, collect };
}

/** Returns how many times slower this machine is than the reference machine, at least 1. */
export async function calibrate(page, meter) {
  const before = await meter.read();
  await page.evaluate(() => {
    let text = "";
    for (let round = 0; round < 60; round++) {
      const items = Array.from({ length: 4000 }, (_, index) => ({ name: `item ${(index * 7919) % 4000}`, index }));
      items.sort((a, b) => (a.name < b.name ? -1 : 1));
      text = JSON.stringify(JSON.parse(JSON.stringify(items)));
    }
    return text.length;
  });
  const after = await meter.read();
  return Math.max(1, (after.scriptMs - before.scriptMs) / REFERENCE_MS);
}
