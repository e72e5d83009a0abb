"""Events of a job's log and of the tenant."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .generated.event import EVENTS, Event
from .generated.models import FeedEvent

TERMINAL_EVENTS = frozenset({"job.completed", "job.failed", "job.cancelled"})


@dataclass(frozen=True)
class UnknownEvent:
    """An event that this version of the package cannot read, such as one of a newer service."""

    seq: int
    type_: str
    # The event as the service sent it.
    raw: dict[str, Any]


class TenantEvent(NamedTuple):
    """A place in the stream of the tenant."""

    # Continues the stream after this place, as `after`.
    cursor: str
    # The milestone. `None` where the stream begins, and now and then while the filters let nothing through.
    event: FeedEvent | None


AnyEvent: TypeAlias = Event | UnknownEvent


def read_event(raw: dict[str, Any]) -> AnyEvent:
    """The event of its type's class."""
    seq, kind = raw["seq"], raw["type"]
    try:
        return EVENTS[kind].from_dict(raw)
    except (KeyError, TypeError, ValueError, AttributeError):
        return UnknownEvent(seq, kind, raw)
