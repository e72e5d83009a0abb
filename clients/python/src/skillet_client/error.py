"""The errors of the client."""

from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import httpx

from .generated.models import Job, Problem


class SkilletError(Exception):
    """An error that this package raises. Errors of the network are those of httpx."""


class ApiError(SkilletError):
    """A request that the service refused."""

    status: int
    # `None` if something between the client and the service answered.
    problem: Problem | None
    # Seconds, from the header `Retry-After`.
    retry_after: float | None

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.problem = read_problem(response)
        self.retry_after = read_retry_after(response.headers.get("Retry-After", ""))
        super().__init__(describe(self.status, self.problem))

    @property
    def code(self) -> str | None:
        """The problem's code, such as `invalid_request`."""
        return self.problem.code if self.problem else None


class JobFailed(SkilletError):
    """A job that ended without success. `job.status` is `failed` or `cancelled`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        reason = f": {job.error.code}: {job.error.message}" if job.error else ""
        super().__init__(f"the job {job.id} is {job.status}{reason}")


class StreamError(SkilletError):
    """An answer to a request for an event stream that is something else, such as the page of a proxy."""

    def __init__(self, content_type: str) -> None:
        super().__init__(
            f"the answer is not an event stream but {content_type}: "
            "check the URL, and that no proxy answers instead of the service"
        )


class ChecksumError(SkilletError):
    """A download whose SHA-256 is not that of the asset."""


class WebhookError(SkilletError):
    """A webhook that does not come from the service, or is too old."""


def read_json(response: httpx.Response) -> Any:
    """The JSON of a good answer. Raises `ApiError` for every other answer."""
    if response.is_success:
        try:
            return response.json()
        except ValueError:
            pass
    raise ApiError(response)


def read_problem(response: httpx.Response) -> Problem | None:
    try:
        return Problem.from_dict(response.json())
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def describe(status: int, problem: Problem | None) -> str:
    if not problem:
        return f"the answer has status {status} and does not come from a Skillet service"
    fields = "".join(f"\n  {field.pointer}: {field.detail}" for field in problem.errors or [])
    return f"{status} {problem.code}: {problem.detail}{fields}"


def read_retry_after(value: str) -> float | None:
    """Seconds from a number or a date."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None
