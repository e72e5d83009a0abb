"""Client of Skillet, a self-hosted HTTP API for AI agent jobs."""

from .async_client import AsyncClient
from .client import Client
from .error import ApiError, ChecksumError, JobFailed, SkilletError, StreamError, WebhookError
from .event import AnyEvent, TenantEvent, UnknownEvent
from .generated.event import Event
from .generated.models import Approval, Asset, FeedEvent, Hooks, Job, LimitsRequest, Output, Problem
from .request import EventFilters, File, JobOptions
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
    "EventFilters",
    "FeedEvent",
    "File",
    "Hooks",
    "Job",
    "JobFailed",
    "JobOptions",
    "LimitsRequest",
    "Output",
    "Problem",
    "SkilletError",
    "StreamError",
    "TenantEvent",
    "UnknownEvent",
    "WebhookError",
    "verify_webhook",
]
