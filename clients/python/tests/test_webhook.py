"""Tests of the verification of webhooks, with the vectors of all clients and the Standard Webhooks library."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from shared_file import read_shared
from standardwebhooks.webhooks import Webhook

from skillet_client import WebhookError, verify_webhook

VECTORS = read_shared("webhook.json")
MESSAGES = {"header": "is missing", "time": "not a number|300 seconds", "signature": "no signature"}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_vectors_of_all_clients(vector: dict[str, Any]) -> None:
    body, headers, secrets = vector["body"], vector["headers"], vector["secrets"]
    now = datetime.fromtimestamp(vector["now"], UTC)
    for sent in (body, body.encode()):
        if vector["error"] is None:
            assert verify_webhook(sent, headers, secrets, now=now) == json.loads(body)
        else:
            with pytest.raises(WebhookError, match=MESSAGES[vector["error"]]):
                verify_webhook(sent, headers, secrets, now=now)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_?"])
def test_a_secret_that_is_malformed_is_an_error_of_the_program(secret: str) -> None:
    vector = VECTORS[0]
    with pytest.raises(ValueError, match="whsec_"):
        verify_webhook(vector["body"], vector["headers"], secret, now=datetime.fromtimestamp(vector["now"], UTC))


def test_a_signature_of_another_implementation() -> None:
    secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
    body, now = '{"type": "job.completed", "data": {"text": "wörld 🥖"}}', int(time.time())
    signature = Webhook(secret).sign("evt_1", datetime.fromtimestamp(now, UTC), body)
    headers = {"Webhook-Id": "evt_1", "Webhook-Timestamp": str(now), "Webhook-Signature": signature}
    assert verify_webhook(body.encode(), headers, secret)["data"] == {"text": "wörld 🥖"}
    with pytest.raises(WebhookError, match="300 seconds"):
        verify_webhook(body, headers | {"Webhook-Timestamp": str(now - 400)}, secret)
