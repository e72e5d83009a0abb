"""The scenario that is shared by the clients of all languages."""

import hashlib
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from conftest import Connect
from shared_file import read_shared

from skillet_client import AnyEvent, Client, EventFilters, JobFailed
from skillet_client.generated.models import ApprovalRequestedEvent


class Scenario:
    """The scenario, and the transcript that the client writes."""

    def __init__(self, client: Client, script: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self._client = client
        self._script = script
        self._metadata = {"scenario": str(uuid4())}
        self._filters: EventFilters = {"types": script["milestones"], "metadata": self._metadata}

    def play(self, folder: Path) -> None:
        with closing(self._client.events(**self._filters)) as events:
            start = next(events).cursor
        upload = self._script["upload"]
        asset = self._client.upload((upload["name"], upload["content"].encode()))
        self.lines.append(f"uploaded {asset.name} {asset.size} {asset.sha256}")
        job = self._client.submit(**self.job("report"), files=[asset])
        for event in self._client.follow(job):
            self.write(event, "approve")
        job = self._client.job(job)
        self.lines.append(f"ended {job.status} {first_line(job.text)}")
        for output in job.outputs:
            path = self._client.download(output, folder)
            content = path.read_bytes()
            self.lines.append(f"downloaded {path.name} {len(content)} {hashlib.sha256(content).hexdigest()}")

        job = self._client.run(**self.job("denied"), on_event=lambda event: self.write(event, "deny"))
        self.lines.append(f"ended {job.status} {first_line(job.text)}")
        with pytest.raises(JobFailed) as raised:
            self._client.run(**self.job("failed"))
        job = raised.value.job
        self.lines.append(f"raised {job.status} {job.error.code if job.error else None}")

        with closing(self._client.events(after=start, **self._filters)) as events:
            for _, milestone in events:
                if milestone:
                    self.lines.append(f"milestone {milestone.type_} {milestone.status}")
                if milestone and milestone.type_ == "job.failed":
                    break

    def job(self, name: str) -> dict[str, Any]:
        return {**self._script[name], "metadata": self._metadata}

    def write(self, event: AnyEvent, answer: str) -> None:
        if event.type_ not in self._script["omit"]:
            self.lines.append(f"event {event.type_}")
        if isinstance(event, ApprovalRequestedEvent):
            self.lines.append(f"{answer} {event.data.tool}")
            if answer == "approve":
                self._client.approve(event.data.approval_id)
            else:
                self._client.deny(event.data.approval_id, self._script["denial"])


def first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]


def test_the_transcript_is_the_same_in_all_clients(connect: Connect, tmp_path: Path) -> None:
    script = read_shared("scenario.json")
    scenario = Scenario(connect(), script)
    scenario.play(tmp_path)
    assert scenario.lines == script["transcript"]
