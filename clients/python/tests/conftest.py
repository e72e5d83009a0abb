"""The service under test, and fixtures for both of its clients."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import pytest
from blocking import Blocking
from proxy import Fault, Proxy

from skillet_client import Client, backoff


@dataclass(frozen=True)
class Service:
    url: str
    key: str


# Creates a client of the service, or of another address with the service's API key.
Connect: TypeAlias = Callable[..., Client]
# Starts a proxy in front of the service. See `Proxy`.
Disturb: TypeAlias = Callable[..., Proxy]


@pytest.fixture(scope="session")
def service() -> Service:
    try:
        return Service(os.environ["SKILLET_URL"], os.environ["SKILLET_API_KEY"])
    except KeyError as error:
        pytest.exit(f"start a service and set {error}", 2)


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest, service: Service) -> Iterator[Connect]:
    with ExitStack() as stack:

        def open_client(url: str = service.url, key: str = service.key, **options: Any) -> Client:
            client = Client(url, key, **options) if request.param == "sync" else Blocking(url, key, **options)
            return cast(Client, stack.enter_context(closing(client)))

        yield open_client


@pytest.fixture
def disturb(service: Service) -> Iterator[Disturb]:
    with ExitStack() as stack:

        def open_proxy(target: str, *faults: Fault) -> Proxy:
            return stack.enter_context(Proxy(service.url, target, list(faults)))

        yield open_proxy


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the retry delays, for tests with many failures."""
    monkeypatch.setattr(backoff, "LONGEST_PAUSE", 0.001)
