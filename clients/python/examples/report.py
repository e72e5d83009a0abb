"""Runs a job that asks for approval, and saves the HTML page that it creates."""

import sys
from pathlib import Path

from skillet_client import Client, JobFailed
from skillet_client.generated.models import ApprovalRequestedEvent, ToolCompletedEvent

PROMPT = """Make a page of the prices.
```bash
{ echo '<!doctype html><h1>Prices</h1><pre>'; sort prices.csv; echo '</pre>'; } > prices.html && echo done
```
output: prices.html
"""


def main() -> None:
    with Client() as client:
        job = client.submit(
            PROMPT,
            skill="html",
            model="script/bash",
            files=[("prices.csv", b"spelt,4\nrye,3\n")],
            hooks={"confirm": ["shell.exec"]},
        )
        for event in client.follow(job):
            if isinstance(event, ApprovalRequestedEvent):
                print("approve", event.data.tool)
                client.approve(event.data.approval_id)
            elif isinstance(event, ToolCompletedEvent):
                print("tool", event.data.outcome)
        job = client.job(job)
        if job.status != "completed":
            raise JobFailed(job)
        for output in job.outputs:
            print("saved", client.download(output, Path.cwd()).name)


if __name__ == "__main__":
    try:
        main()
    except JobFailed as error:
        sys.exit(str(error))
