"""Tests of jobs from submission to end."""

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import attrs
import pytest
from conftest import Connect, Disturb, Service
from jobs import HELLO
from proxy import Cut, LoseResponse, Response, refusal

from skillet_client import ApiError, Asset, Hooks, Job, JobFailed, JobOptions, LimitsRequest
from skillet_client.generated.api.jobs import list_jobs
from skillet_client.generated.models import ApprovalRequestedEvent, CreateJob, JobPage, ScheduledQueuePlace


def test_a_job_has_its_files_and_its_events(connect: Connect) -> None:
    client = connect()
    seen: list[str] = []
    uploaded: Asset = client.upload(("two.txt", b"two\n"))
    job = client.run(
        "```bash\ncat one.txt two.txt\n```",
        skill="shell",
        model="script/bash",
        files=[("one.txt", b"one\n"), uploaded],
        on_event=lambda event: seen.append(event.type_),
    )
    assert (job.status, job.text) == ("completed", "one\ntwo")
    assert (seen[0], seen[-1]) == ("job.queued", "job.completed")


def test_all_options_arrive(connect: Connect) -> None:
    client = connect()
    run_at = datetime.now(UTC) + timedelta(days=1)
    job = client.submit(
        HELLO,
        skill="shell",
        model="script/bash",
        title="Hello",
        external_id="order-1",
        hooks=Hooks(confirm=["shell.*"]),
        limits=LimitsRequest(max_iterations=3),
        priority=7,
        run_at=run_at,
        max_attempts=2,
        metadata={"order": 1},
    )
    assert (job.status, job.title, job.external_id) == ("queued", "Hello", "order-1")
    assert job.metadata.to_dict() == {"order": 1}
    raw = client.generated.get_httpx_client().get(f"/v1/jobs/{job.id}/request").json()
    assert (raw["priority"], raw["max_attempts"], raw["limits"]["max_iterations"]) == (7, 2, 3)
    assert raw["hooks"]["confirm"] == ["shell.*"]
    queue = client.job(job).queue
    assert isinstance(queue, ScheduledQueuePlace)
    assert queue.run_at == run_at


def test_the_options_are_those_of_the_document() -> None:
    fields = {field.name for field in attrs.fields(CreateJob)}
    assert set(JobOptions.__annotations__) == fields - {"prompt", "inputs", "additional_properties"}


@pytest.mark.usefixtures("no_pauses")
def test_a_lost_response_creates_no_second_job(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("POST /v1/jobs ", LoseResponse(), LoseResponse(), Response("503 Service Unavailable"))
    client = connect(proxy.url)
    external_id = f"lost-{time.time_ns()}"
    job = client.run(HELLO, skill="shell", model="script/bash", external_id=external_id)
    assert len(proxy.requests) == 4
    assert len({request.headers["idempotency-key"] for request in proxy.requests}) == 1
    assert len({request.body for request in proxy.requests}) == 1
    page = list_jobs.sync(client=client.generated, external_id=external_id)
    assert isinstance(page, JobPage)
    assert [found.id for found in page.data] == [job.id]


def test_an_idempotency_key_of_the_caller_works_across_clients(connect: Connect) -> None:
    key = f"order-{time.time_ns()}"
    jobs = [connect().submit(HELLO, skill="shell", model="script/bash", idempotency_key=key) for _ in range(2)]
    assert jobs[0].id == jobs[1].id


# Submits a job with an idempotency key, and prints its id.
SUBMIT = """
import sys
from skillet_client import Client
key = sys.argv[1]
prompt = "```bash\\ntrue\\n```"
print(Client().submit(prompt, skill="shell", model="script/bash", external_id=key, idempotency_key=key).id)
"""


def test_a_process_that_is_killed_before_the_response_creates_one_job(
    connect: Connect, disturb: Disturb, service: Service
) -> None:
    client, key = connect(), f"killed-{time.time_ns()}"

    def jobs() -> list[str]:
        page = list_jobs.sync(client=client.generated, external_id=key)
        assert isinstance(page, JobPage)
        return [job.id for job in page.data]

    command = [sys.executable, "-c", SUBMIT, key]
    url = disturb("POST /v1/jobs ", Cut(0, "silent")).url
    with subprocess.Popen(command, env=os.environ | {"SKILLET_URL": url, "SKILLET_API_KEY": service.key}) as killed:
        while not jobs():
            assert killed.poll() is None
        killed.kill()
    environment = os.environ | {"SKILLET_URL": service.url, "SKILLET_API_KEY": service.key}
    again = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    assert jobs() == [again.stdout.strip()]


def test_two_calls_create_two_jobs(connect: Connect) -> None:
    client = connect()
    jobs = [client.submit(HELLO, skill="shell", model="script/bash") for _ in range(2)]
    assert jobs[0].id != jobs[1].id


def test_a_failed_job_is_raised(connect: Connect) -> None:
    with pytest.raises(JobFailed, match="ended with status failed: timeout: ") as raised:
        connect().run("```bash\nsleep 60\n```", skill="shell", model="script/bash", limits={"timeout_seconds": 1})
    job = raised.value.job
    assert isinstance(job, Job)
    assert job.status == "failed"
    assert job.error
    assert job.error.code == "timeout"


@pytest.mark.parametrize(("answer", "text"), [("approve", "ran"), ("deny", "Step 1 of 1 failed.")])
def test_approvals_are_resolved(answer: str, text: str, connect: Connect) -> None:
    client = connect()
    job = client.submit("```bash\necho ran\n```", skill="shell", model="script/bash", hooks={"confirm": ["*"]})
    for event in client.follow(job):
        if isinstance(event, ApprovalRequestedEvent):
            verbs = [client.approve, client.deny]
            if answer == "deny":
                verbs.reverse()
            # The second call behaves like a retry after a lost response: it has no effect.
            for reason in ("because", "why not"):
                assert verbs[0](event.data.approval_id, reason).reason == "because"
            with pytest.raises(ApiError) as raised:
                verbs[1](event.data.approval_id)
            assert raised.value.status == 409
    assert (client.job(job.id).text or "").splitlines()[0] == text


def test_a_refused_request_names_the_field(connect: Connect) -> None:
    with pytest.raises(ApiError) as raised:
        connect().run("", skill="shell")
    assert (raised.value.status, raised.value.code) == (422, "invalid_request")
    assert "/prompt" in str(raised.value)


def test_a_request_to_a_busy_service_is_retried(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("POST /v1/jobs ", refusal("429 Too Many Requests", "Retry-After: 1\r\n"))
    job = connect(proxy.url).submit(HELLO, skill="shell", model="script/bash")
    first, second = proxy.requests
    assert job.status == "queued"
    assert second.at - first.at >= 1


def test_a_long_retry_after_is_an_error(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("POST /v1/jobs ", refusal("429 Too Many Requests", "Retry-After: 86400\r\n"))
    with pytest.raises(ApiError) as raised:
        connect(proxy.url).submit(HELLO, skill="shell", model="script/bash")
    assert (raised.value.retry_after, len(proxy.requests)) == (86400, 1)


@pytest.mark.usefixtures("no_pauses")
def test_a_call_gives_up(connect: Connect, disturb: Disturb) -> None:
    proxy = disturb("POST /v1/jobs ", *[Response("502 Bad Gateway", body=b"<h1>Bad</h1>")] * 20)
    with pytest.raises(ApiError, match="does not come from a Skillet service"):
        connect(proxy.url).submit(HELLO, skill="shell", model="script/bash")
    assert len(proxy.requests) == 6


def test_an_invalid_url_or_key_is_rejected(connect: Connect) -> None:
    with pytest.raises(ValueError, match="SKILLET_URL"):
        connect("localhost:8420")
    with pytest.raises(ValueError, match="SKILLET_API_KEY"):
        connect(key="sk_\n")


def test_a_lost_response_to_an_approval_is_no_conflict(connect: Connect, disturb: Disturb) -> None:
    client = connect()
    disturbed = connect(disturb("POST /v1/approvals/", LoseResponse()).url)
    job = client.submit(HELLO, skill="shell", model="script/bash", hooks={"confirm": ["*"]})
    for event in client.follow(job):
        if isinstance(event, ApprovalRequestedEvent):
            assert disturbed.approve(event.data.approval_id).status == "approved"
