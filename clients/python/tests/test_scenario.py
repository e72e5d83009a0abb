"""The scenario that the clients of all languages play."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Connect

from skillet_client import AnyEvent, Client, JobFailed
from skillet_client.generated.models import ApprovalRequestedEvent

# In the repository, and in a source distribution.
PLACES = [Path(__file__).parents[2] / "scenario.json", Path(__file__).parents[1] / "scenario.json"]


class Scenario:
    """The lines that a client writes."""

    def __init__(self, client: Client, script: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self._client = client
        self._script = script

    def play(self, folder: Path) -> None:
        upload = self._script["upload"]
        asset = self._client.upload((upload["name"], upload["content"].encode()))
        self.lines.append(f"uploaded {asset.name} {asset.size} {asset.sha256}")
        job = self._client.submit(**self._script["report"], files=[asset])
        for event in self._client.follow(job):
            self.write(event, "approve")
        job = self._client.job(job)
        self.lines.append(f"ended {job.status} {first_line(job.text)}")
        for output in job.outputs:
            path = self._client.download(output, folder)
            content = path.read_bytes()
            self.lines.append(f"downloaded {path.name} {len(content)} {hashlib.sha256(content).hexdigest()}")

        job = self._client.run(**self._script["denied"], on_event=lambda event: self.write(event, "deny"))
        self.lines.append(f"ended {job.status} {first_line(job.text)}")
        with pytest.raises(JobFailed) as raised:
            self._client.run(**self._script["failed"])
        job = raised.value.job
        self.lines.append(f"raised {job.status} {job.error.code if job.error else None}")

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


def test_the_transcript_is_that_of_all_clients(connect: Connect, tmp_path: Path) -> None:
    script = json.loads(next(place for place in PLACES if place.exists()).read_text("utf-8"))
    scenario = Scenario(connect(), script)
    scenario.play(tmp_path)
    assert scenario.lines == script["transcript"]
