"""The connection to a service: its URL, the API key and the generated client."""

import os
from importlib.metadata import version

import httpx

from .generated import AuthenticatedClient


def connect(url: str | None, api_key: str | None) -> AuthenticatedClient:
    """Creates the generated client. The defaults are the environment variables `SKILLET_URL` and `SKILLET_API_KEY`."""
    url = url or os.environ.get("SKILLET_URL", "")
    api_key = api_key or os.environ.get("SKILLET_API_KEY", "")
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"`{url}` does not begin with http:// or https://: pass `url` or set SKILLET_URL")
    if not (api_key.isascii() and api_key.isprintable() and api_key):
        raise ValueError("the API key is missing or has invalid characters: pass `api_key` or set SKILLET_API_KEY")
    agent = {"User-Agent": f"skillet-client-python/{version('skillet-client')}"}
    return AuthenticatedClient(url, api_key, headers=agent, timeout=httpx.Timeout(60, connect=10))
