"""Client of Skillet, a self-hosted HTTP API for AI agent jobs."""

from .async_client import AsyncClient
from .client import Client
from .error import ApiError, ChecksumError, JobFailed, SkilletError, WebhookError
from .event import AnyEvent, UnknownEvent
from .generated.event import Event
from .generated.models import Approval, Asset, Hooks, Job, LimitsRequest, Output, Problem
from .request import File, JobOptions
from .webhook import verify_webhook

__all__ = [
    "AnyEvent",
    "ApiError",
    "Approval",
    "Asset",
    "AsyncClient",
    "ChecksumError",
    "Client",
    "Event",
    "File",
    "Hooks",
    "Job",
    "JobFailed",
    "JobOptions",
    "LimitsRequest",
    "Output",
    "Problem",
    "SkilletError",
    "UnknownEvent",
    "WebhookError",
    "verify_webhook",
]
