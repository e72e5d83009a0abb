"""The client for asyncio. The build makes `client.py` from this file, without asyncio."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack

import httpx
from httpx_sse import EventSource

from .backoff import Backoff
from .connection import connect
from .error import ApiError, JobFailed, read_json
from .event import AnyEvent, TenantEvent
from .generated.models import Approval, Asset, Job, Output
from .request import EventFilters, File, JobOptions, create_job, get, is_url, post
from .stream import EventStream, JobEvents, TenantEvents
from .transfer import Download, OnUpload, Upload, UploadFile

EventT = TypeVar("EventT")


class AsyncClient:
    """A client for one service. Pass its attribute `generated` to functions of `skillet_client.generated.api`."""

    def __init__(self, url: str | None = None, api_key: str | None = None, *, silence: float = 45) -> None:
        """Creates a client and sends no request. A stream reconnects after `silence` seconds without data."""
        self.generated = connect(url, api_key)
        self._http = self.generated.get_async_httpx_client()
        self._silence = silence

    async def run(
        self,
        prompt: str,
        *,
        files: Iterable[File] = (),
        on_event: Callable[[AnyEvent], Awaitable[object]] | None = None,
        on_upload: OnUpload | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Submits a job, follows it to its end and returns it. A job that fails or is cancelled raises `JobFailed`."""
        job = await self.submit(prompt, files=files, on_upload=on_upload, idempotency_key=idempotency_key, **options)
        async with aclosing(self.follow(job, deltas=on_event is not None)) as events:
            async for event in events:
                if on_event:
                    await on_event(event)
        job = await self.job(job)
        if job.status != "completed":
            raise JobFailed(job)
        return job

    async def submit(
        self,
        prompt: str,
        *,
        files: Iterable[File] = (),
        on_upload: OnUpload | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Uploads the files and creates the job. Retries after a lost response do not create a second job."""
        inputs = [await self._input(file, on_upload) for file in files]
        return Job.from_dict(await self._call(create_job(prompt, inputs, options, idempotency_key)))

    async def job(self, job: Job | str) -> Job:
        """Returns the current state of a job."""
        return Job.from_dict(await self._call(get("jobs", job if isinstance(job, str) else job.id)))

    def follow(self, job: Job | str, *, after: int = 0, deltas: bool = True) -> AsyncGenerator[AnyEvent, None]:
        """Yields the events of a job after the sequence number `after`, until the job ends. Reconnects if necessary."""
        return self._stream(JobEvents(job if isinstance(job, str) else job.id, after, deltas, self._silence))

    def events(self, *, after: str | None = None, **filters: Unpack[EventFilters]) -> AsyncGenerator[TenantEvent, None]:
        """Yields the milestones of all jobs, with cursors, after a cursor or from now on. Ends only with an error."""
        return self._stream(TenantEvents(after, filters, self._silence))

    async def upload(self, file: UploadFile, on_progress: OnUpload | None = None) -> Asset:
        """Uploads a file, which is read while it is sent."""
        with Upload(file, on_progress) as upload:
            return Asset.from_dict(await self._call(upload.request()))

    async def download(self, asset: Asset | Output | str, to: str | os.PathLike[str]) -> Path:
        """Saves an asset to a file, or to a folder under its name. On an error, an existing file does not change."""
        if isinstance(asset, str):
            asset = Asset.from_dict(await self._call(get("assets", asset)))
        if isinstance(asset, Output):
            asset = asset.asset
        with Download(asset, to) as download:
            # The service may redirect to its bucket. httpx does not send the API key there.
            request = get("assets", asset.id, "content")
            async with self._http.stream(**request, follow_redirects=True) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise ApiError(response)
                async for chunk in response.aiter_bytes():
                    download.write(chunk)
            return download.finish()

    async def approve(self, approval_id: str, reason: str | None = None) -> Approval:
        """Approves a tool call that waits for approval."""
        return await self._resolve(approval_id, "approve", "approved", reason)

    async def deny(self, approval_id: str, reason: str | None = None) -> Approval:
        """Denies a tool call that waits for approval. The model receives the reason."""
        return await self._resolve(approval_id, "deny", "denied", reason)

    async def close(self) -> None:
        """Closes all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _input(self, file: File, on_upload: OnUpload | None) -> dict[str, str]:
        if is_url(file):
            return {"url": file}
        asset = file if isinstance(file, Asset) else await self.upload(file, on_upload)
        return {"asset_id": asset.id}

    async def _resolve(self, approval_id: str, decision: str, status: str, reason: str | None) -> Approval:
        body = {"decision": decision, "reason": reason}
        try:
            return Approval.from_dict(await self._call(post("approvals", approval_id, json=body)))
        except ApiError as error:
            if error.status != 409:
                raise
            # An earlier attempt may have succeeded although its response was lost.
            approval = Approval.from_dict(await self._call(get("approvals", approval_id)))
            if approval.status != status:
                raise
            return approval

    async def _stream(self, stream: EventStream[EventT]) -> AsyncGenerator[EventT, None]:
        while not stream.has_ended:
            try:
                async with self._http.stream(**stream.request()) as response:
                    if response.status_code != 200:
                        await response.aread()
                    if stream.has_events(response):
                        async for message in EventSource(response).aiter_sse():
                            if event := stream.receive(message):
                                yield event
                            if stream.has_ended:
                                return
            except httpx.TransportError:
                pass
            if not stream.has_ended:
                await asyncio.sleep(stream.backoff.pause())

    async def _call(self, request: dict[str, Any]) -> Any:
        """Sends a request, with retries, and returns the JSON of the response."""
        backoff = Backoff()
        while True:
            try:
                return read_json(await self._http.request(**request))
            except (ApiError, httpx.TransportError) as error:
                pause = backoff.pause_of_call(error)
            await asyncio.sleep(pause)
