"""Tests of uploads and downloads."""

import hashlib
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from conftest import Connect, Disturb
from proxy import Cut, Response, Rewrite, refusal

from skillet_client import ApiError, ChecksumError

MEGABYTE = 1024 * 1024
# Prints how many megabytes the process's memory grew while it sent and received a file.
GROWTH = """
import asyncio, inspect, os, resource, sys
from skillet_client import AsyncClient, Client

def high_water():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def result(value):
    return await value if inspect.isawaitable(value) else value

async def main(kind, source, target):
    client = AsyncClient() if kind == "async" else Client()
    await result(client.download(await result(client.upload(("warm.txt", b"up"))), target))
    before = high_water()
    asset = await result(client.upload(source))
    await result(client.download(asset, target))
    print(high_water() - before)

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_file_is_uploaded_and_downloaded(connect: Connect, tmp_path: Path) -> None:
    client = connect()
    source = tmp_path / "brötchen 🥖.csv"
    source.write_bytes(bytes(range(256)) * 1000)
    progress: list[tuple[str, int, int]] = []
    asset = client.upload(source, lambda *step: progress.append(step))
    assert (asset.name, asset.size) == (source.name, 256_000)
    assert progress[-1] == (source.name, 256_000, 256_000)
    assert [sent for _, sent, _ in progress] == sorted({sent for _, sent, _ in progress})
    folder = tmp_path / "saved"
    folder.mkdir()
    assert client.download(asset, folder) == folder / source.name
    assert client.download(asset.id, tmp_path / "again") == tmp_path / "again"
    for saved in (folder / source.name, tmp_path / "again"):
        assert saved.read_bytes() == source.read_bytes()


def test_an_empty_file_is_uploaded_and_downloaded(connect: Connect, tmp_path: Path) -> None:
    client = connect()
    assert client.download(client.upload(("empty.txt", b"")), tmp_path).read_bytes() == b""


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Rewrite(lambda body: body[:-1] + b"?"), ChecksumError),
        (Cut(70_000), httpx.RemoteProtocolError),
        (Cut(70_000, "reset"), httpx.ReadError),
        (refusal("410 Gone"), ApiError),
        (Response("503 Service Unavailable"), ApiError),
    ],
    ids=["changed", "cut", "reset", "gone", "busy"],
)
def test_a_failed_download_does_not_change_the_file(
    fault: Cut | Response | Rewrite, error: type[Exception], connect: Connect, disturb: Disturb, tmp_path: Path
) -> None:
    asset = connect().upload(("a.bin", b"a" * 200_000))
    target = tmp_path / "a.bin"
    target.write_text("before")
    with pytest.raises(error):
        connect(disturb("/content", fault).url).download(asset, target)
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]
    assert target.read_text() == "before"


def test_a_redirect_to_a_bucket_is_followed_without_the_key(connect: Connect, disturb: Disturb, tmp_path: Path) -> None:
    content = b"a" * 1000
    asset = connect().upload(("a.bin", content))
    bucket = disturb("/bucket", Response("200 OK", body=content))
    location = f"Location: {bucket.url}/bucket/a.bin?signature=1\r\n"
    service = disturb("/content", Response("307 Temporary Redirect", location))
    assert connect(service.url).download(asset, tmp_path).read_bytes() == content
    [request] = bucket.requests
    assert "authorization" not in {name.lower() for name in request.headers}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_memory_does_not_grow_with_the_file(kind: str, tmp_path: Path) -> None:
    source, target = tmp_path / "large.bin", tmp_path / "copy.bin"
    with source.open("wb") as file:
        for number in range(50):
            file.write(hashlib.sha256(bytes([number])).digest() * (MEGABYTE // 32))
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, kind, source, target], check=True, capture_output=True, text=True
    )
    assert int(done.stdout) < 10
    assert target.stat().st_size == 50 * MEGABYTE
    with source.open("rb") as one, target.open("rb") as other:
        assert hashlib.file_digest(one, "sha256").digest() == hashlib.file_digest(other, "sha256").digest()
