"""The asynchronous client with the interface of the blocking client, so that each test runs with both."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, TypeVar

from skillet_client import AnyEvent, AsyncClient, Job, TenantEvent

EventT = TypeVar("EventT")


class Blocking:
    """An `AsyncClient` and its event loop."""

    def __init__(self, url: str, api_key: str, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(url, api_key, **options)

    def run(self, prompt: str, **options: Any) -> Job:
        if on_event := options.get("on_event"):
            options["on_event"] = in_a_thread(on_event)
        job: Job = self._perform(self._client.run(prompt, **options))
        return job

    def follow(self, job: Job | str, **options: Any) -> Generator[AnyEvent, None, None]:
        return self._iterate(self._client.follow(job, **options))

    def events(self, **options: Any) -> Generator[TenantEvent, None, None]:
        return self._iterate(self._client.events(**options))

    def close(self) -> None:
        self._perform(self._client.close())
        self._runner.close()

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._client, name)
        if not inspect.iscoroutinefunction(member):
            return member
        return lambda *arguments, **options: self._perform(member(*arguments, **options))

    def _iterate(self, events: AsyncGenerator[EventT, None]) -> Generator[EventT, None, None]:
        try:
            while event := self._perform(next_of(events)):
                yield event
        finally:
            self._perform(events.aclose())

    def _perform(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        loop = self._runner.get_loop()
        if loop.is_running():
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result()
        return self._runner.run(coroutine)


async def next_of(events: AsyncGenerator[EventT, None]) -> EventT | None:
    return await anext(events, None)


def in_a_thread(function: Callable[[AnyEvent], object]) -> Callable[[AnyEvent], Any]:
    """Wraps a function in a coroutine. The function runs in a thread, because it may block."""

    async def call(event: AnyEvent) -> None:
        await asyncio.to_thread(function, event)

    return call
