"""Pauses between the attempts of a request."""

import httpx

from .error import ApiError

# Statuses of a refusal that may pass.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
# A call gives up after so many failures in a row, about 15 seconds.
MAX_FAILURES = 6
# A call does not wait longer than this for a service that says how long.
LONGEST_RETRY_AFTER = 60.0


class Backoff:
    """Pauses that double from 0.5 to 10 seconds. A `Retry-After` replaces a pause."""

    def __init__(self) -> None:
        self._failures = 0
        self._retry_after: float | None = None

    def reset(self) -> None:
        """Notes a success."""
        self._failures = 0

    def refused(self, error: ApiError) -> None:
        """Notes a refusal, and raises it if no repetition helps."""
        if error.status not in TRANSIENT:
            raise error
        self._retry_after = error.retry_after

    def pause(self) -> float:
        """Seconds until the next attempt."""
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
        if self._retry_after is not None:
            pause, self._retry_after = self._retry_after, None
        self._failures += 1
        return pause

    def pause_of_call(self, error: ApiError | httpx.TransportError) -> float:
        """The same for a call, which somebody waits for: raises the error if it lasts too long."""
        if isinstance(error, ApiError):
            self.refused(error)
        if self._failures + 1 >= MAX_FAILURES or (self._retry_after or 0) > LONGEST_RETRY_AFTER:
            raise error
        return self.pause()
