"""Events of a job's log and of the tenant."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .generated.event import EVENTS, Event
from .generated.models import FeedEvent

TERMINAL_EVENTS = frozenset({"job.completed", "job.failed", "job.cancelled"})


@dataclass(frozen=True)
class UnknownEvent:
    """An event that this version of the package cannot parse, such as a new type of a newer service."""

    seq: int
    type_: str
    # The event as the service sent it.
    raw: dict[str, Any]


class TenantEvent(NamedTuple):
    """A position in the stream of the tenant, with its milestone if there is one."""

    # The position. Pass it as `after` to continue after this event.
    cursor: str
    # The milestone. `None` at the start of the stream, and periodically while no milestone matches the filters.
    event: FeedEvent | None


AnyEvent: TypeAlias = Event | UnknownEvent


def read_event(raw: dict[str, Any]) -> AnyEvent:
    """Parses an event into the class of its type."""
    seq, kind = raw["seq"], raw["type"]
    try:
        return EVENTS[kind].from_dict(raw)
    except (KeyError, TypeError, ValueError, AttributeError):
        return UnknownEvent(seq, kind, raw)
