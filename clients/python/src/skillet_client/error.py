"""The errors of the client."""

from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import httpx

from .generated.models import Job, Problem


class SkilletError(Exception):
    """The base class of this package's errors. Network errors are errors of httpx."""


class ApiError(SkilletError):
    """An error response of the service."""

    status: int
    # `None` if the body is not a problem of the service, such as a proxy's error page.
    problem: Problem | None
    # The delay in seconds from the header `Retry-After`, if present.
    retry_after: float | None

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.problem = read_problem(response)
        self.retry_after = read_retry_after(response.headers.get("Retry-After", ""))
        super().__init__(describe(self.status, self.problem))

    @property
    def code(self) -> str | None:
        """The machine-readable code of the problem, such as `invalid_request`."""
        return self.problem.code if self.problem else None


class JobFailed(SkilletError):
    """A job that failed or was cancelled. `job.status` is `failed` or `cancelled`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        reason = f": {job.error.code}: {job.error.message}" if job.error else ""
        super().__init__(f"the job {job.id} ended with status {job.status}{reason}")


class StreamError(SkilletError):
    """A response that is not an event stream, for example an HTML page of a proxy."""

    def __init__(self, content_type: str) -> None:
        super().__init__(
            f"the response is not an event stream but {content_type}: "
            "check the URL, and that no proxy responds instead of the service"
        )


class ChecksumError(SkilletError):
    """A download whose SHA-256 does not match the asset."""


class WebhookError(SkilletError):
    """A webhook that is too old, or that has no valid signature."""


def read_json(response: httpx.Response) -> Any:
    """Returns the JSON of a successful response. Raises `ApiError` for any other response."""
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
        return f"the response has status {status} and does not come from a Skillet service"
    fields = "".join(f"\n  {field.pointer}: {field.detail}" for field in problem.errors or [])
    return f"{status} {problem.code}: {problem.detail}{fields}"


def read_retry_after(value: str) -> float | None:
    """Parses the header `Retry-After`: seconds or a date."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None
