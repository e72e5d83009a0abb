"""The state of an event stream across its connections. It does no I/O, so both clients use it."""

import json
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import httpx
from httpx_sse import ServerSentEvent, SSEError

from .backoff import Backoff
from .error import ApiError, StreamError
from .event import TERMINAL_EVENTS, AnyEvent, TenantEvent, read_event
from .generated.models import FeedEvent
from .request import EventFilters, filter_params, get

EventT = TypeVar("EventT")


class EventStream(ABC, Generic[EventT]):
    """An event stream that reconnects: its requests, its events and its retry delays."""

    def __init__(self, request: dict[str, Any], last_id: str, silence: float) -> None:
        self.has_ended = False
        self.backoff = Backoff()
        # The id of the last event received.
        self._last_id = last_id
        self._request = request
        self._silence = silence

    def request(self) -> dict[str, Any]:
        """Returns the next request, as keyword arguments of httpx."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store", "Last-Event-ID": self._last_id}
        return self._request | {"headers": headers, "timeout": httpx.Timeout(self._silence, connect=10)}

    def has_events(self, response: httpx.Response) -> bool:
        """Whether the response has events. Raises permanent errors."""
        if response.status_code == 204:
            self.has_ended = True
        elif response.status_code != 200:
            self.backoff.refused(ApiError(response))
        # A response without a content type has an incomplete head.
        content_type = response.headers.get("Content-Type", "")
        if response.status_code == 200 and content_type and not content_type.startswith("text/event-stream"):
            raise StreamError(content_type)
        return response.status_code == 200

    def receive(self, message: ServerSentEvent) -> EventT | None:
        """Returns the event of a message. Returns `None` for a duplicate and for a message without data."""
        if not message.data:
            return None
        try:
            event = self._read(message)
        except (ValueError, KeyError, TypeError) as error:
            raise SSEError("the stream contains data that is not an event") from error
        if event is not None:
            self.backoff.reset()
        return event

    @abstractmethod
    def _read(self, message: ServerSentEvent) -> EventT | None: ...


class JobEvents(EventStream[AnyEvent]):
    """The log of a job. The stream ends after the last event of the log."""

    def __init__(self, job_id: str, after: int, deltas: bool, silence: float) -> None:
        params = {} if deltas else {"deltas": "false"}
        super().__init__(get("jobs", job_id, "stream") | {"params": params}, str(after), silence)

    def _read(self, message: ServerSentEvent) -> AnyEvent | None:
        event = read_event(json.loads(message.data))
        if event.seq <= int(self._last_id):
            return None
        self._last_id = str(event.seq)
        self.has_ended = event.type_ in TERMINAL_EVENTS
        return event


class TenantEvents(EventStream[TenantEvent]):
    """The milestones of all jobs of the tenant. The stream does not end."""

    def __init__(self, after: str | None, filters: EventFilters, silence: float) -> None:
        super().__init__(get("events", "stream") | {"params": filter_params(filters)}, after or "", silence)

    def _read(self, message: ServerSentEvent) -> TenantEvent | None:
        if message.id == self._last_id:
            return None
        event = None if message.event == "cursor" else FeedEvent.from_dict(json.loads(message.data))
        self._last_id = message.id
        return TenantEvent(message.id, event)
