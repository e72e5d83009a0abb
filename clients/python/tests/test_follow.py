"""Tests of a job's event stream over broken connections."""

from itertools import cycle
from typing import Literal

import pytest
from conftest import Connect, Disturb
from jobs import HELLO, assert_complete, ended_job, log
from proxy import Cut, Response, Rewrite, refusal

from skillet_client import ApiError, StreamError, UnknownEvent
from skillet_client.generated.models import JobCompletedEvent

# The distance in bytes between the positions at which a stream is cut. Testing every byte would take minutes.
STEP = 3
How = Literal["clean", "truncated", "reset", "silent"]


def test_the_log_is_dense_and_ends_with_the_terminal_event(connect: Connect) -> None:
    client = connect()
    job = client.submit(HELLO, skill="shell", model="script/bash")
    events = log(client, job)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(events[-1], JobCompletedEvent)
    assert events[-1].data.text == "hello\nwörld 🥖"


def test_following_begins_after_an_event(connect: Connect) -> None:
    client = connect()
    job = ended_job(client)
    events = log(client, job)
    assert_complete(log(client, job, after=3), events[3:])
    # The service responds with 204 after the last event.
    assert log(client, job, after=events[-1].seq) == []


@pytest.mark.usefixtures("no_pauses")
def test_a_stream_may_end_anywhere(connect: Connect, disturb: Disturb) -> None:
    client = connect()
    job = ended_job(client)
    events = log(client, job)
    size = len(client.generated.get_httpx_client().get(f"/v1/jobs/{job.id}/stream").content)
    how: cycle[How] = cycle(["clean", "truncated", "reset"])
    proxy = disturb("/stream", *(Cut(after, next(how)) for after in range(0, size, STEP)))
    disturbed = connect(proxy.url)
    while proxy.faults:
        assert_complete(log(disturbed, job), events)
    assert len(proxy.requests) >= size // STEP > 500


@pytest.mark.parametrize("how", ["clean", "truncated", "reset", "silent"])
def test_a_cut_stream_is_resumed(how: How, connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Cut(0, how), Cut(700, how))
    client = connect(proxy.url, silence=0.5)
    job = client.submit("```bash\nsleep 1; echo hello\n```", skill="shell", model="script/bash")
    events = log(client, job)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[-1].type_ == "job.completed"
    positions = [int(request.headers["last-event-id"]) for request in proxy.requests]
    assert positions[:2] == [0, 0]
    assert positions[2] > 0
    assert positions == sorted(positions)


def test_following_ends_at_the_terminal_event_and_not_with_the_connection(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Cut(10**9, "silent"))
    client = connect(proxy.url)
    job = ended_job(connect())
    assert log(client, job)[-1].type_ == "job.completed"
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found"])
def test_a_refusal_ends_following(status: str, connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Cut(700), refusal(status))
    client = connect(proxy.url)
    job = ended_job(connect())
    with pytest.raises(ApiError) as raised:
        log(client, job)
    assert raised.value.status == int(status[:3])
    assert raised.value.code == "test"
    assert len(proxy.requests) == 2


def test_a_response_that_is_not_an_event_stream_ends_following(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Response("200 OK", "Content-Type: text/html\r\n", b"<h1>Welcome</h1>"))
    job = ended_job(connect())
    with pytest.raises(StreamError, match="text/html"):
        log(connect(proxy.url), job)
    assert len(proxy.requests) == 1


def test_refusals_of_the_service_end_following(connect: Connect) -> None:
    job = ended_job(connect())
    with pytest.raises(ApiError, match="401 unauthorized"):
        log(connect(key="sk_wrong"), job)
    with pytest.raises(ApiError, match="404 not_found"):
        list(connect().follow("job_01kay6zz9qe7dtmsm0czapts40"))


def test_retry_after_is_respected(connect: Connect, disturb: Disturb) -> None:
    limited = refusal("429 Too Many Requests", "Retry-After: 2\r\n")
    proxy = disturb("/stream", Cut(700), limited, Response("503 Service Unavailable", body=b"<h1>busy</h1>"))
    client = connect(proxy.url)
    job = ended_job(connect())
    assert_complete(log(client, job), log(connect(), job))
    cut, refused, busy, last = (request.at for request in proxy.requests)
    assert refused - cut >= 0.5
    assert busy - refused >= 2
    assert last - busy >= 0.5
    assert len({request.headers["last-event-id"] for request in proxy.requests[1:]}) == 1


def test_live_text_can_be_left_out(connect: Connect) -> None:
    client = connect()
    job = ended_job(client)
    kinds = {event.type_ for event in client.follow(job, deltas=False)}
    assert "tool.output" in {event.type_ for event in client.follow(job)} - kinds
    assert {"job.queued", "tool.completed", "job.completed"} <= kinds


@pytest.mark.parametrize(
    "fault",
    [
        Response("200 OK"),
        Rewrite(lambda body: body.replace(b'"seq"', b"'seq'")),
        Rewrite(lambda body: body.replace(b'"seq"', b'"req"')),
    ],
    ids=["empty", "no JSON", "no event"],
)
def test_invalid_data_counts_as_a_lost_connection(
    fault: Response | Rewrite, connect: Connect, disturb: Disturb
) -> None:
    proxy = disturb("/stream", fault)
    job = ended_job(connect())
    assert log(connect(proxy.url), job)[-1].type_ == "job.completed"
    assert len(proxy.requests) == 2


def test_an_event_of_a_newer_service_is_passed_on(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Rewrite(lambda body: body.replace(b"message.completed", b"message.evaluated")))
    job = ended_job(connect())
    known, events = log(connect(), job), log(connect(proxy.url), job)
    unknown = [event for event in events if isinstance(event, UnknownEvent)]
    assert [event.type_ for event in unknown] == ["message.evaluated"] * 2
    assert unknown[0].raw["data"]["content"]
    assert [event.seq for event in events] == [event.seq for event in known]


def test_a_new_value_of_a_known_event_is_passed_on(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("/stream", Rewrite(lambda body: body.replace(b'"end_turn"', b'"was_good"')))
    job = ended_job(connect())
    last = log(connect(proxy.url), job)[-1]
    assert isinstance(last, JobCompletedEvent)
    assert str(last.data.stop_reason) == "was_good"
