"""Retry delays and limits."""

import httpx

from .error import ApiError

# The HTTP statuses after which the same request may succeed later.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
# The maximum number of attempts of a request. Their delays add up to about 15 seconds.
MAX_FAILURES = 6
# The longest `Retry-After` that a request waits for. A request with a longer one fails.
LONGEST_RETRY_AFTER = 60.0


class Backoff:
    """Delays that double from 0.5 to 10 seconds. A `Retry-After` replaces the next delay."""

    def __init__(self) -> None:
        self._failures = 0
        self._retry_after: float | None = None

    def reset(self) -> None:
        """Resets the delay after a success."""
        self._failures = 0

    def refused(self, error: ApiError) -> None:
        """Records an error response. Raises the error if a retry cannot succeed."""
        if error.status not in TRANSIENT:
            raise error
        self._retry_after = error.retry_after

    def pause(self) -> float:
        """Returns the delay before the next attempt in seconds."""
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
        if self._retry_after is not None:
            pause, self._retry_after = self._retry_after, None
        self._failures += 1
        return pause

    def pause_of_call(self, error: ApiError | httpx.TransportError) -> float:
        """Returns the delay of a request. Raises the error if it is permanent or the retry limit is reached."""
        if isinstance(error, ApiError):
            self.refused(error)
        if self._failures + 1 >= MAX_FAILURES or (self._retry_after or 0) > LONGEST_RETRY_AFTER:
            raise error
        return self.pause()
