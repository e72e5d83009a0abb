"""The state of an event stream over all its connections. It does no I/O: both clients drive it."""

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
    """What to send, what to pass on, and how long to wait."""

    def __init__(self, request: dict[str, Any], last_id: str, silence: float) -> None:
        self.has_ended = False
        self.backoff = Backoff()
        # The id of the last event that was received.
        self._last_id = last_id
        self._request = request
        self._silence = silence

    def request(self) -> dict[str, Any]:
        """The next request, as arguments for httpx."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store", "Last-Event-ID": self._last_id}
        return self._request | {"headers": headers, "timeout": httpx.Timeout(self._silence, connect=10)}

    def has_events(self, response: httpx.Response) -> bool:
        """Whether the answer has events to read. Raises an error for an answer that will not change."""
        if response.status_code == 204:
            self.has_ended = True
        elif response.status_code != 200:
            self.backoff.refused(ApiError(response))
        # An answer without a type has been cut.
        content_type = response.headers.get("Content-Type", "")
        if response.status_code == 200 and content_type and not content_type.startswith("text/event-stream"):
            raise StreamError(content_type)
        return response.status_code == 200

    def receive(self, message: ServerSentEvent) -> EventT | None:
        """The event of a message, unless it is one that was received before."""
        if not message.data:
            return None
        try:
            event = self._read(message)
        except (ValueError, KeyError, TypeError) as error:
            raise SSEError("the stream has data that is no event") from error
        if event is not None:
            self.backoff.reset()
        return event

    @abstractmethod
    def _read(self, message: ServerSentEvent) -> EventT | None: ...


class JobEvents(EventStream[AnyEvent]):
    """A job's log. It ends only when the log has ended."""

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
    """The milestones of all jobs. It does not end."""

    def __init__(self, after: str | None, filters: EventFilters, silence: float) -> None:
        super().__init__(get("events", "stream") | {"params": filter_params(filters)}, after or "", silence)

    def _read(self, message: ServerSentEvent) -> TenantEvent | None:
        if message.id == self._last_id:
            return None
        event = None if message.event == "cursor" else FeedEvent.from_dict(json.loads(message.data))
        self._last_id = message.id
        return TenantEvent(message.id, event)
