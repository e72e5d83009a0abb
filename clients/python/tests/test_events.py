"""Tests of the tenant's event stream over broken connections."""

import base64
import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from typing import Literal
from uuid import uuid4

import pytest
from conftest import Connect, Disturb
from jobs import HELLO
from proxy import Cut, Response, refusal

from skillet_client import ApiError, Client, FeedEvent, StreamError, TenantEvent

# The distance in bytes between the positions at which a stream is cut. Testing every byte would take minutes.
STEP = 5
How = Literal["clean", "truncated", "reset", "silent"]
OF_A_JOB = ["job.queued", "job.started", "job.completed"]


@dataclass(frozen=True)
class Recorded:
    """Two jobs with unique metadata, the cursor before them, and their milestones."""

    start: str
    metadata: dict[str, str]
    events: list[FeedEvent]

    def stream(self, client: Client) -> Generator[TenantEvent, None, None]:
        return client.events(after=self.start, metadata=self.metadata)


def take(events: Generator[TenantEvent, None, None], count: int) -> list[FeedEvent]:
    """Returns this number of milestones and checks that no cursor occurs twice."""
    cursors: list[str] = []
    taken: list[FeedEvent] = []
    with closing(events):
        while len(taken) < count:
            cursor, event = next(events)
            cursors.append(cursor)
            if event:
                taken.append(event)
    assert len(set(cursors)) == len(cursors)
    return taken


def kinds(events: list[FeedEvent]) -> list[str]:
    return [event.type_ for event in events]


def begin(client: Client, metadata: dict[str, str]) -> str:
    with closing(client.events(metadata=metadata)) as events:
        cursor, event = next(events)
    assert event is None
    return cursor


@pytest.fixture
def recorded(connect: Connect) -> Recorded:
    client, metadata = connect(), {"batch": str(uuid4())}
    start = begin(client, metadata)
    for _ in range(2):
        client.run(HELLO, skill="shell", model="script/bash", metadata=metadata)
    params = {"after": start, "metadata.batch": metadata["batch"]}
    events: list[FeedEvent] = []
    # A milestone becomes visible when no older transaction is open.
    while len(events) < 2 * len(OF_A_JOB):
        page = client.generated.get_httpx_client().get("/v1/events", params=params).json()
        events = [FeedEvent.from_dict(event) for event in page["data"]]
    assert kinds(events) == OF_A_JOB * 2
    return Recorded(start, metadata, events)


def size(recorded: Recorded, client: Client) -> int:
    """Returns the size of the stream in bytes."""
    params = {"after": recorded.start, "metadata.batch": recorded.metadata["batch"]}
    content = b""
    with client.generated.get_httpx_client().stream("GET", "/v1/events/stream", params=params) as response:
        for chunk in response.iter_bytes():
            content += chunk
            # The first event has only a cursor.
            if content.count(b"\n\n") == len(recorded.events) + 1:
                break
    return len(content)


@pytest.mark.usefixtures("no_pauses")
def test_the_stream_may_end_anywhere(connect: Connect, disturb: Disturb, recorded: Recorded) -> None:
    how: cycle[How] = cycle(["clean", "truncated", "reset"])
    places = range(0, size(recorded, connect()), STEP)
    proxy = disturb("/stream", *(Cut(after, next(how)) for after in places))
    disturbed = connect(proxy.url)
    while proxy.faults:
        assert take(recorded.stream(disturbed), len(recorded.events)) == recorded.events
    assert len(proxy.requests) >= len(places) > 300


@pytest.mark.parametrize("how", ["clean", "truncated", "reset", "silent"])
def test_a_cut_stream_is_resumed(how: How, connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Cut(0, how), Cut(300, how), Cut(500, how))
    client, metadata = connect(proxy.url, silence=0.5), {"batch": str(uuid4())}
    events = client.events(metadata=metadata)
    begun = next(events)
    assert begun.event is None
    job = client.submit(HELLO, skill="shell", model="script/bash", metadata=metadata)
    taken = take(events, 3)
    assert kinds(taken) == OF_A_JOB
    assert {event.job_id for event in taken} == {job.id}
    ids = [request.headers["last-event-id"] for request in proxy.requests]
    assert ids[:3] == ["", "", begun.cursor]
    assert len(ids) > 3


def test_a_cursor_continues(connect: Connect, recorded: Recorded) -> None:
    with closing(recorded.stream(connect())) as events:
        second = [place.cursor for place in (next(events), next(events)) if place.event][-1]
    rest = connect().events(after=second, metadata=recorded.metadata)
    assert take(rest, len(recorded.events) - 2) == recorded.events[2:]


def test_filters_are_combined(connect: Connect, recorded: Recorded) -> None:
    client = connect()
    filters: dict[str, str | float] = {**recorded.metadata, "order": 7, "new": True}
    job = client.run(HELLO, skill="shell", model="script/bash", metadata=filters)
    types = ["job.queued", "job.completed"]
    taken = take(client.events(after=recorded.start, types=types, skill="shell", metadata=filters), 2)
    assert [(event.job_id, event.type_) for event in taken] == [(job.id, kind) for kind in types]
    with pytest.raises(ApiError, match=r"`tool\.output` is not a type"):
        next(client.events(types=["tool.output"]))


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone"])
def test_a_refusal_ends_the_stream(status: str, connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Cut(0), refusal(status))
    with pytest.raises(ApiError) as raised:
        next(connect(proxy.url).events())
    assert (raised.value.status, raised.value.code) == (int(status[:3]), "test")
    assert len(proxy.requests) == 2


def test_a_cursor_from_before_a_restore_is_expired(connect: Connect, recorded: Recorded) -> None:
    _, _, position = base64.urlsafe_b64decode(recorded.start + "==").partition(b".")
    expired = base64.urlsafe_b64encode(b"9." + position).decode().rstrip("=")
    with pytest.raises(ApiError, match="410 cursor_expired"):
        next(connect().events(after=expired))


def test_a_response_that_is_not_an_event_stream_ends_the_stream(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Response("200 OK", "Content-Type: text/html\r\n", b"<h1>Welcome</h1>"))
    with pytest.raises(StreamError, match="text/html"):
        next(connect(proxy.url).events())


def test_retry_after_is_respected(connect: Connect, disturb: Disturb, recorded: Recorded) -> None:
    proxy = disturb("/stream", refusal("429 Too Many Requests", "Retry-After: 2\r\n"), refusal("503 Unavailable"))
    assert take(recorded.stream(connect(proxy.url)), len(recorded.events)) == recorded.events
    limited, busy, _ = (request.at for request in proxy.requests)
    assert busy - limited >= 2


def frame(event: FeedEvent, number: int) -> str:
    return f"id: {number}\nevent: {event.type_}\ndata: {json.dumps(event.to_dict())}\n\n"


def test_a_milestone_of_a_newer_service_is_passed_on(connect: Connect, disturb: Disturb, recorded: Recorded) -> None:
    frames = "".join(frame(event, number) for number, event in enumerate(recorded.events))
    body = frames.replace("job.started", "job.paused").replace('"running"', '"resting"').encode()
    proxy = disturb("/stream", Response("200 OK", "Content-Type: text/event-stream\r\n", body))
    taken = take(recorded.stream(connect(proxy.url)), len(recorded.events))
    assert kinds(taken) == ["job.queued", "job.paused", "job.completed"] * 2
    assert str(taken[1].status) == "resting"
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("data", ["{'seq'", "{}"])
def test_invalid_data_counts_as_a_lost_connection(
    data: str, connect: Connect, disturb: Disturb, recorded: Recorded
) -> None:
    body = f"id: 1\nevent: job.queued\ndata: {data}\n\n".encode()
    proxy = disturb("/stream", Response("200 OK", "Content-Type: text/event-stream\r\n", body))
    assert take(recorded.stream(connect(proxy.url)), len(recorded.events)) == recorded.events
    assert len(proxy.requests) == 2
