"""Verification of webhooks (Standard Webhooks 1.0)."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from .error import WebhookError

# The maximum difference in seconds between the timestamp of a webhook and the current time.
TOLERANCE = 300


def verify_webhook(
    body: bytes | str, headers: Mapping[str, str], secrets: str | Sequence[str], *, now: datetime | None = None
) -> dict[str, Any]:
    """Verifies the signature and the timestamp of a webhook and returns its content. Otherwise raises `WebhookError`.

    `body` is the raw request body. Several secrets (`whsec_…`) can be passed: a signature with any of them is accepted.
    `now` replaces the current time.
    """
    received = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = received["webhook-id"], received["webhook-timestamp"]
        signatures = received["webhook-signature"].split()
    except KeyError as error:
        raise WebhookError(f"the header {error} is missing") from None
    check_age(timestamp, now or datetime.now(UTC))
    content = body.encode() if isinstance(body, str) else body
    signed = f"{message_id}.{timestamp}.".encode() + content
    keys = map(key_of, [secrets] if isinstance(secrets, str) else secrets)
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    if not any(is_signature(digest, signature) for digest in expected for signature in signatures):
        raise WebhookError("no signature matches the body and the secret")
    payload: dict[str, Any] = json.loads(content)
    return payload


def check_age(timestamp: str, now: datetime) -> None:
    if not (timestamp.isascii() and timestamp.isdecimal()):
        raise WebhookError("the header 'webhook-timestamp' is not a number of seconds")
    if abs(now.timestamp() - int(timestamp)) > TOLERANCE:
        raise WebhookError(f"the webhook was not sent within {TOLERANCE} seconds of the current time")


def key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("the secret must be `whsec_` followed by Base64")
    return key


def is_signature(expected: bytes, signature: str) -> bool:
    """Whether the signature has version 1 and matches. The comparison takes constant time."""
    version, _, encoded = signature.partition(",")
    return version == "v1" and hmac.compare_digest(base64.b64encode(expected), encoded.encode())
