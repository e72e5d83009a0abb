"""A Python program that uses Skillet through a client generated from the OpenAPI document."""

import sys
import time
from io import BytesIO

from skillet_client import AuthenticatedClient
from skillet_client.api.assets import get_asset_content, upload_asset
from skillet_client.api.jobs import create_job, get_job, list_events
from skillet_client.models import CreateJob, InputRequest, Job, Problem, ToolCompletedEvent, UploadForm
from skillet_client.types import File

PROMPT = """
```bash
{ echo "<!doctype html><h1>Sold</h1><pre>"; sort -t, -k2 -nr rolls.csv; echo "</pre>"; } > sold.html && echo done
```
output: sold.html
"""


def good(response):
    """Returns the response. Exits if it is an error."""
    if response is None or isinstance(response, Problem):
        sys.exit(f"the request failed: {response}")
    return response


def finished(client: AuthenticatedClient, job: Job) -> Job:
    while job.finished_at is None:
        time.sleep(0.1)
        job = good(get_job.sync(job.id, client=client))
    return job


def main(url: str, key: str) -> None:
    client = AuthenticatedClient(url, key)

    file = File(BytesIO(b"rye,3\nspelt,4\n"), file_name="rolls.csv", mime_type="text/csv")
    asset = good(upload_asset.sync(client=client, body=UploadForm(file)))
    request = CreateJob(
        skill="html", model="script/bash", prompt=PROMPT, inputs=[InputRequest(asset_id=asset.id)]
    )
    job = good(create_job.sync(client=client, body=request, idempotency_key=str(asset.id)))
    job = finished(client, job)
    print("job", job.status, job.text)

    for event in good(list_events.sync(job.id, client=client)).data:
        if isinstance(event, ToolCompletedEvent):
            print("tool", event.data.outcome)

    for made in job.outputs:
        content = good(get_asset_content.sync(made.asset.id, client=client)).payload.read()
        print("output", made.kind, made.asset.name, content.decode().replace("\n", " "))

    refused = create_job.sync_detailed(
        client=client, body=CreateJob(skill="html", model="script/bash", prompt="")
    )
    problem = refused.parsed
    print("refused", refused.status_code.value, problem.code, problem.errors[0].pointer)


main(*sys.argv[1:])
