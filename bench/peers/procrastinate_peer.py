"""Benchmark of procrastinate, with its asynchronous worker at a suitable concurrency."""

import asyncio
import json
import os
import statistics
import time
from importlib.metadata import version

import procrastinate

CLIENTS = 8
BULK_CLIENTS = 4
THOUSAND = 1000
CONCURRENCY = 30
ROUNDS = 3
# 2 in a complete run, 1 in a quick run. A few jobs are enough, because the library is slow.
SCALE = int(os.environ.get("PEERS_SCALE", "2"))
JOBS = 1_000 * SCALE
RUN_SECONDS = 1.5 * SCALE

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"], max_size=CONCURRENCY + 2)
)


@app.task(queue="noop")
async def noop() -> None:
    """Does nothing."""


async def per_second(clients, once):
    """Returns the median rate at which this number of clients completes calls."""

    async def client(until):
        count = 0
        while time.monotonic() < until:
            await once()
            count += 1
        return count

    rates = []
    for _ in range(ROUNDS):
        begun_at = time.monotonic()
        counts = await asyncio.gather(*(client(begun_at + RUN_SECONDS) for _ in range(clients)))
        rates.append(sum(counts) / (time.monotonic() - begun_at))
    return statistics.median(rates)


async def thousand():
    await noop.batch_defer_async(*({} for _ in range(THOUSAND)))


async def forget():
    await app.connector.execute_query_async("truncate procrastinate_jobs cascade")


async def core():
    """Measures the rate at which the worker runs no-op jobs that are already queued."""
    rates = []
    for _ in range(ROUNDS):
        await forget()
        for _ in range(JOBS // THOUSAND):
            await thousand()
        begun_at = time.monotonic()
        await app.run_worker_async(concurrency=CONCURRENCY, wait=False, install_signal_handlers=False)
        rates.append(JOBS / (time.monotonic() - begun_at))
    return statistics.median(rates)


async def main():
    system = f"procrastinate {version('procrastinate')}"
    figures = []

    def add(name, value):
        figure = {"name": name, "value": value, "unit": "jobs/s", "target": None, "met": None, "of": system}
        figures.append(figure)

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        add("queue core", await core())
        add("enqueue one by one, 8 clients", await per_second(CLIENTS, noop.defer_async))
        await forget()
        add("enqueue in thousands, 4 clients", await per_second(BULK_CLIENTS, thousand) * THOUSAND)
        await forget()
    print(json.dumps(figures))

