/** The processor time that a page takes, which is the same on a machine that is busy with other things. */

/** What `calibrate` takes on the machine that the budgets are for: two cores of 2.5 GHz. */
const REFERENCE_MS = 160;

/** Begins to measure a page. Times are in milliseconds of its main thread. */
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
  /** Collects what nothing uses, so that the heap is what the page holds. */
  const collect = () => session.send("HeapProfiler.collectGarbage");
  return { read, collect };
}

/** How much slower this machine is than the one that the budgets are for; 1 if it is not. */
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
