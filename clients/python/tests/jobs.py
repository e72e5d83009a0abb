"""Jobs of the tests, and helpers that read their logs."""

from skillet_client import AnyEvent, Client, Job

HELLO = "```bash\necho hello; echo wörld 🥖\n```"


def ended_job(client: Client) -> Job:
    return client.run(HELLO, skill="shell", model="script/bash")


def log(client: Client, job: Job, after: int = 0) -> list[AnyEvent]:
    return list(client.follow(job, after=after))


def assert_complete(events: list[AnyEvent], of: list[AnyEvent]) -> None:
    assert [event.seq for event in events] == [event.seq for event in of]
    assert events == of
