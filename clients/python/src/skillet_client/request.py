"""The requests of both clients, as keyword arguments of httpx."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypedDict, TypeGuard
from urllib.parse import quote
from uuid import uuid4

from .generated.models import Asset, Hooks, LimitsRequest

# A path, an `http` or `https` URL, a name with its content, or an existing asset of the service.
File: TypeAlias = str | os.PathLike[str] | tuple[str, bytes] | Asset


class JobOptions(TypedDict, total=False):
    """The fields of a job, except `prompt` and `inputs`. Exactly one of `skill` and `agent` is required."""

    skill: str
    agent: str
    conversation_id: str
    title: str
    external_id: str
    # A list has fallbacks after the preferred model. They are used when its provider is unavailable.
    model: str | Sequence[str]
    parameters: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    hooks: Hooks | Mapping[str, Sequence[str]]
    limits: LimitsRequest | Mapping[str, float]
    priority: int
    run_at: datetime
    max_attempts: int
    metadata: Mapping[str, Any]
    webhook: str | Mapping[str, Any]


class EventFilters(TypedDict, total=False):
    """Filters of milestones. A milestone must match all of them."""

    # Event types, such as `job.completed`.
    types: Iterable[str]
    skill: str
    agent: str
    conversation_id: str
    # Values in the metadata of the job, up to three.
    metadata: Mapping[str, str | float]


def get(*path: str) -> dict[str, Any]:
    return {"method": "GET", "url": "/v1/" + "/".join(quote(segment, safe="") for segment in path)}


def post(*path: str, **arguments: Any) -> dict[str, Any]:
    return get(*path) | {"method": "POST"} | arguments


def filter_params(filters: EventFilters) -> dict[str, Any]:
    """Converts the filters to query parameters."""
    params = {name: value for name, value in filters.items() if name != "metadata"}
    if "types" in filters:
        params["types"] = ",".join(filters["types"])
    return params | {f"metadata.{key}": value for key, value in filters.get("metadata", {}).items()}


def create_job(prompt: str, inputs: list[dict[str, str]], options: JobOptions, key: str | None) -> dict[str, Any]:
    """Builds the request that creates a job. It has an idempotency key, so retries create only one job."""
    body = json.dumps({"prompt": prompt, "inputs": inputs, **options}, default=to_json)
    headers = {"Content-Type": "application/json", "Idempotency-Key": key or str(uuid4())}
    return post("jobs", content=body, headers=headers)


def to_json(value: object) -> object:
    """Converts a value that `json` does not support."""
    if isinstance(value, Hooks | LimitsRequest):
        return value.to_dict()
    if isinstance(value, datetime):
        return value.astimezone().isoformat()
    raise TypeError(f"{type(value).__name__} cannot be converted to JSON")


def is_url(file: File) -> TypeGuard[str]:
    return isinstance(file, str) and file.startswith(("http://", "https://"))
