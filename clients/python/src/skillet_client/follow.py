"""The state of a job's event stream over all its connections. It does no I/O: both clients drive it."""

import json
from typing import Any

import httpx
from httpx_sse import ServerSentEvent, SSEError

from .backoff import Backoff
from .error import ApiError
from .event import TERMINAL_EVENTS, AnyEvent, read_event
from .request import get


class Following:
    """What to send, what to pass on, and how long to wait. It ends only when the job's log has ended."""

    def __init__(self, job_id: str, after: int, deltas: bool, silence: float) -> None:
        self.has_ended = False
        self._job_id = job_id
        self._last_seq = after
        self._deltas = deltas
        self._silence = silence
        self.backoff = Backoff()

    def request(self) -> dict[str, Any]:
        """The next request, as arguments for httpx."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store", "Last-Event-ID": str(self._last_seq)}
        timeout = httpx.Timeout(self._silence, connect=10)
        params = {} if self._deltas else {"deltas": "false"}
        return get("jobs", self._job_id, "stream") | {"headers": headers, "params": params, "timeout": timeout}

    def has_events(self, response: httpx.Response) -> bool:
        """Whether the answer has events to read. Raises `ApiError` for a refusal that stands."""
        if response.status_code == 204:
            self.has_ended = True
        elif response.status_code != 200:
            self.backoff.refused(ApiError(response))
        return response.status_code == 200

    def receive(self, message: ServerSentEvent) -> AnyEvent | None:
        """The event of a message, unless it is one that was received before."""
        if not message.data:
            return None
        try:
            event = read_event(json.loads(message.data))
        except (ValueError, KeyError, TypeError) as error:
            raise SSEError("the stream has data that is no event") from error
        if event.seq <= self._last_seq:
            return None
        self._last_seq = event.seq
        self.backoff.reset()
        self.has_ended = event.type_ in TERMINAL_EVENTS
        return event
