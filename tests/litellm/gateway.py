"""Both provider wires with LiteLLM between: what comes in one format is checked and asked in the other.

UPSTREAM is the address of the providers that answer. The first line of output is the address of the gateway.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Set before the import, which would fetch a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402

UPSTREAM = os.environ["UPSTREAM"]
# What is asked in the one format goes on as a chat completion, not as OpenAI's newer Responses.
litellm.use_chat_completions_url_for_anthropic_messages = True


def chat_completion(body: dict[str, Any]) -> Iterator[bytes]:
    """A request of OpenAI's format, asked of Anthropic's."""
    model = "anthropic/" + body.pop("model")
    chunks = litellm.completion(model=model, api_base=UPSTREAM, api_key="key", num_retries=0, **body)
    for chunk in chunks:
        yield f"data: {chunk.model_dump_json(exclude_none=True)}\n\n".encode()
    yield b"data: [DONE]\n\n"


async def message(body: dict[str, Any]) -> AsyncIterator[bytes]:
    """A request of Anthropic's format, asked of OpenAI's."""
    model = "openai/" + body.pop("model")
    parts = await litellm.anthropic.messages.acreate(
        model=model, api_base=f"{UPSTREAM}/v1", api_key="key", num_retries=0, **body
    )
    async for part in parts:
        yield part if isinstance(part, bytes) else str(part).encode()


class Gateway(BaseHTTPRequestHandler):
    """One request at a connection, whose answer ends with it."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            if self.path.endswith("/messages"):
                content = asyncio.run(self.collect(message(body)))
            else:
                content = b"".join(chat_completion(body))
            self.answer(200, "text/event-stream", content)
        except Exception as error:  # What LiteLLM refuses is the answer of the provider.
            words = {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}
            self.answer(400, "application/json", json.dumps(words).encode())

    async def collect(self, parts: AsyncIterator[bytes]) -> bytes:
        return b"".join([part async for part in parts])

    def answer(self, status: int, content_type: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: what matters is in the answers."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
