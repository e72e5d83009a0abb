"""Verification of webhooks, with vectors of Standard Webhooks and its own library."""

import json
import time
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook

from skillet_client import WebhookError, verify_webhook, webhook

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
BODY = '{"email":"test@example.com","username":"test_user"}'
HEADERS = {
    "Webhook-Id": "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
    "Webhook-Timestamp": "1649367553",
    "Webhook-Signature": "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
}
SIGNATURE = HEADERS["Webhook-Signature"]


@pytest.fixture
def then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time at which the vector was signed."""
    monkeypatch.setattr(webhook, "time", lambda: 1649367553 + 299)


@pytest.mark.usefixtures("then")
@pytest.mark.parametrize(
    "signature",
    [SIGNATURE, f"v1,AAAA {SIGNATURE}", f"v1a,AAAA {SIGNATURE} v2,x", f"garbage {SIGNATURE}", f"v1,ü {SIGNATURE}"],
)
def test_the_reference_vector(signature: str) -> None:
    headers = HEADERS | {"Webhook-Signature": signature}
    assert verify_webhook(BODY, headers, SECRET) == json.loads(BODY)
    assert verify_webhook(BODY.encode(), headers, SECRET.removeprefix("whsec_")) == json.loads(BODY)


@pytest.mark.usefixtures("then")
@pytest.mark.parametrize(
    ("body", "headers", "secret", "reason"),
    [
        (BODY + " ", {}, SECRET, "no signature"),
        (BODY, {"Webhook-Id": "msg_other"}, SECRET, "no signature"),
        (BODY, {"Webhook-Timestamp": "1649367554"}, SECRET, "no signature"),
        (BODY, {"Webhook-Signature": SIGNATURE.replace("v1,", "v1a,")}, SECRET, "no signature"),
        (BODY, {"Webhook-Signature": SIGNATURE[:-2]}, SECRET, "no signature"),
        (BODY, {"Webhook-Signature": ""}, SECRET, "no signature"),
        (BODY, {}, "whsec_" + "A" * 32, "no signature"),
        (BODY, {}, "whsec_", "secret"),
        (BODY, {}, "whsec_?", "secret"),
        (BODY, {"Webhook-Timestamp": "1649367252.5"}, SECRET, "not a number"),
        (BODY, {"Webhook-Timestamp": "1649367551"}, SECRET, "300 seconds"),
        (BODY, {"Webhook-Timestamp": "1649368153"}, SECRET, "300 seconds"),
    ],
)
def test_everything_else_is_refused(body: str, headers: dict[str, str], secret: str, reason: str) -> None:
    with pytest.raises(WebhookError, match=reason):
        verify_webhook(body, HEADERS | headers, secret)


@pytest.mark.parametrize("name", HEADERS)
def test_each_header_is_required(name: str) -> None:
    headers = {other: value for other, value in HEADERS.items() if other != name}
    with pytest.raises(WebhookError, match=name.lower()):
        verify_webhook(BODY, headers, SECRET)


def test_a_signature_of_another_implementation() -> None:
    body, now = '{"type": "job.completed", "data": {"text": "wörld 🥖"}}', int(time.time())
    signature = Webhook(SECRET).sign("evt_1", datetime.fromtimestamp(now, UTC), body)
    headers = {"webhook-id": "evt_1", "webhook-timestamp": str(now), "webhook-signature": signature}
    assert verify_webhook(body.encode(), headers, SECRET)["data"] == {"text": "wörld 🥖"}
