"""A proxy between a client and the service that disturbs responses."""

import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPResponse
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Literal, Self, TypeAlias
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Cut:
    """A response that ends after some bytes of its body."""

    after: int
    # `clean` is a valid end, `truncated` ends before the end of the HTTP framing, `reset` is a TCP reset, `silent`
    # keeps the connection open without data.
    how: Literal["clean", "truncated", "reset", "silent"] = "clean"


@dataclass(frozen=True)
class Response:
    """A response of the proxy. The service does not receive the request."""

    status: str
    headers: str = ""
    body: bytes = b""


def refusal(status: str, headers: str = "") -> Response:
    """Returns a problem document with the code `test`."""
    problem = {"type": "/docs/errors/test", "title": "Test", "status": int(status[:3]), "code": "test"}
    more = {"detail": "a test", "request_id": None, "retryable": True}
    return Response(status, f"Content-Type: application/problem+json\r\n{headers}", json.dumps(problem | more).encode())


@dataclass(frozen=True)
class Rewrite:
    """A response whose body is replaced by another of the same length."""

    change: Callable[[bytes], bytes]


@dataclass(frozen=True)
class LoseResponse:
    """A request that the service handles, but whose response is lost."""


@dataclass(frozen=True)
class Request:
    line: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)


Fault: TypeAlias = Cut | Response | Rewrite | LoseResponse


class Proxy(ThreadingTCPServer):
    """A proxy in which each request that contains `target` gets the next fault. Other requests pass unchanged."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, service_url: str, target: str, faults: list[Fault]) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.service = urlsplit(service_url)
        self.target = target
        self.faults = deque(faults)
        # The requests that matched the target.
        self.requests: list[Request] = []
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()

    def fault_of(self, request: Request) -> Fault | None:
        if self.target not in request.line:
            return None
        self.requests.append(request)
        return self.faults.popleft() if self.faults else None


class Connection(StreamRequestHandler):
    """A connection with one request. `Connection: close` prevents a second one."""

    server: Proxy
    disable_nagle_algorithm = True

    def handle(self) -> None:
        try:
            request = self.read_request()
            if request:
                self.respond(request, self.server.fault_of(request))
        except OSError:
            # The client or the service has closed the connection.
            pass

    def read_request(self) -> Request | None:
        line = self.rfile.readline().decode()
        headers = {}
        while (header := self.rfile.readline().decode().strip()) != "":
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length", 0)))
        return Request(line.strip(), headers, body) if line else None

    def respond(self, request: Request, fault: Fault | None) -> None:
        if isinstance(fault, Response):
            head = f"HTTP/1.1 {fault.status}\r\nConnection: close\r\nContent-Length: {len(fault.body)}\r\n"
            self.wfile.write(f"{head}{fault.headers}\r\n".encode() + fault.body)
            return
        with socket.create_connection((self.server.service.hostname, self.server.service.port)) as service:
            # A response to HTTP/1.0 is not chunked, so it can end cleanly after any byte.
            is_framed = isinstance(fault, Cut) and fault.how == "truncated"
            send(service, request, "HTTP/1.1" if is_framed else "HTTP/1.0")
            response = service.makefile("rb")
            if isinstance(fault, LoseResponse):
                HTTPResponse(service).begin()
                return
            lines = []
            while (header := response.readline()) != b"\r\n":
                if not header.lower().startswith(b"connection:"):
                    lines.append(header.replace(b"HTTP/1.0", b"HTTP/1.1"))
            self.wfile.write(b"".join(lines) + b"Connection: close\r\n\r\n")
            if isinstance(fault, Rewrite):
                self.wfile.write(fault.change(response.read()))
            else:
                self.forward(response.read1, fault)

    def forward(self, read: Callable[[int], bytes], cut: Cut | None) -> None:
        left = cut.after if cut else None
        while left != 0 and (chunk := read(65536 if left is None else min(left, 65536))):
            self.wfile.write(chunk)
            left = None if left is None else left - len(chunk)
        if cut and cut.how == "silent":
            self.server.ended.wait()
        if cut and cut.how == "reset":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.request.close()


def send(service: socket.socket, request: Request, version: str) -> None:
    method, path, _ = request.line.split()
    headers = {**request.headers, "connection": "close"}
    lines = [f"{method} {path} {version}", *(f"{name}: {value}" for name, value in headers.items())]
    service.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + request.body)
