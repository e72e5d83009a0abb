"""Uploads that report progress, and downloads that are verified before they replace a file."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path, PurePath
from secrets import token_hex
from typing import IO, Any, Self, TypeAlias, cast

from .error import ChecksumError
from .generated.models import Asset
from .request import post

UploadFile: TypeAlias = str | os.PathLike[str] | tuple[str, bytes]
# Receives the name of the file, the number of bytes sent so far, and the size of the file.
OnUpload: TypeAlias = Callable[[str, int, int], None]


class Upload:
    """A file that is read while it is sent."""

    def __init__(self, file: UploadFile, on_progress: OnUpload | None) -> None:
        if isinstance(file, tuple):
            self.name, content = file
            self._file: IO[bytes] = io.BytesIO(content)
        else:
            self.name = Path(file).name
            self._file = Path(file).open("rb")  # noqa: SIM115, it is closed by `__exit__`
        self._size = self._file.seek(0, os.SEEK_END)
        self._on_progress = on_progress

    def request(self) -> dict[str, Any]:
        files = {"file": (self.name, cast(IO[bytes], self), "application/octet-stream")}
        return post("assets", files=files)

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes and reports the progress."""
        chunk = self._file.read(size)
        if chunk and self._on_progress:
            self._on_progress(self.name, self._file.tell(), self._size)
        return chunk

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class Download:
    """A file that keeps a temporary name until its SHA-256 is verified."""

    def __init__(self, asset: Asset, to: str | os.PathLike[str]) -> None:
        target = Path(to)
        self._target = target / PurePath(asset.name).name if target.is_dir() else target
        self._temporary = self._target.with_name(f".skillet-{token_hex(8)}.part")
        self._file = self._temporary.open("xb")
        self._expected = asset.sha256
        self._hash = hashlib.sha256()

    def write(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._file.write(chunk)

    def finish(self) -> Path:
        """Checks the SHA-256 and renames the file to its target. Replaces an existing file."""
        self._file.close()
        if self._hash.hexdigest() != self._expected:
            raise ChecksumError(f"{self._target}: the download does not have the SHA-256 {self._expected}")
        return self._temporary.replace(self._target)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)
