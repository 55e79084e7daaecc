"""A place for files: a folder of this machine, or an address of a store that `pyarrow.fs` knows.

Both do the same, so whoever keeps files need not know where. A file that was written is there as a whole or not at all,
and lasts. Places can be sent to workers; secrets travel with them, and are not printed.
"""

from __future__ import annotations

import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from comity.errors import Misuse, Retryable
from comity.errors import Place as ErrorPlace
from comity.limits import limits
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.copies import LocalCopies
from comity.storage.durable import make_folder, sync, sync_stream, write_whole

_S3 = ("s3", "s3a", "s3n")
_KNOWN = (*_S3, "hdfs", "viewfs", "abfs", "abfss", "gs", "gcs")
_RENAMING = ("hdfs", "viewfs")
"""There a file that is being written can be seen, and renaming is atomic."""


_CHUNK_BYTES = 4_194_304


def is_address(text: str) -> bool:
    """Whether a text names a place by an address, and not by a path of this machine.

    >>> is_address("s3a://events/2026"), is_address("file:/tmp/events"), is_address("C:/events"), is_address("a:b")
    (True, False, False, False)
    """
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.lower() != "file" and scheme.replace("+", "").isalnum()


def local_path(text: str) -> Path:
    """The path in a text that is none of an address; `file:` may stand before it.

    >>> local_path("file:///tmp/my%20events"), local_path("file:/tmp"), local_path("events")
    (PosixPath('/tmp/my events'), PosixPath('/tmp'), PosixPath('events'))
    """
    return Path(unquote(urlsplit(text).path)) if text.startswith("file:") else Path(text)


class FolderEntry(NamedTuple):
    """A file or a folder in a folder."""

    name: str
    is_folder: bool
    size: int
    changed_ns: int


class Storage(ABC):
    """Files below a place, by their names, in which `/` divides folders."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Where it is, for people and for libraries; without secrets."""

    @property
    @abstractmethod
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""

    @abstractmethod
    def below(self, name: str) -> Storage:
        """A folder in it."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of a file; `FileNotFoundError` if there is none."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Put a file there, in the place of one that is there; it lasts when this returns."""

    @abstractmethod
    def writing(self, name: str) -> Any:
        """A stream into a file under a name that occurs once, as a context; it lasts when the block ends well."""

    @abstractmethod
    def entries(self, folder: str = "") -> list[FolderEntry]:
        """What is right in a folder, by name; nothing if there is no folder."""

    @abstractmethod
    def size(self, name: str) -> int | None:
        """The bytes of a file; None if there is none."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    def delete_all(self) -> None:
        """Remove everything in it."""

    @abstractmethod
    def on_disk(self, name: str, size: int) -> Path:
        """A file of so many bytes that never changes, on a disk of this machine: itself, or a copy that is kept."""

    @abstractmethod
    def fetch(self, name: str, target: Path, most: int) -> None:
        """Copy a file to a path of this machine; refused if it has more than so many bytes."""

    @abstractmethod
    def delta_options(self) -> dict[str, str]:
        """The storage options by which `deltalake` gets there."""

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return self.size(name) is not None

    def names(self, folder: str = "") -> list[str]:
        """The names of the files right in a folder, sorted; none if there is no folder."""
        return [one.name for one in self.entries(folder) if not one.is_folder]


def storage_at(place: str | Path, access: StorageAccess = NO_ACCESS) -> Storage:
    """The place that a path or an address names; refused if nobody here knows how to get there.

    >>> storage_at("results"), storage_at("s3a://bucket/results/").address
    (LocalStorage(folder=PosixPath('results')), 's3a://bucket/results')
    """
    text = str(place)
    if not is_address(text):
        return LocalStorage(local_path(text))
    parts = urlsplit(text)
    if parts.username or parts.password:
        hint = (
            "leave them out of it; name them by --spark-config spark.hadoop.fs.s3a.access.key=… or by AWS_ACCESS_KEY_ID"
        )
        shown = ErrorPlace(f"{parts.scheme}://{parts.hostname}{parts.path}")
        raise Misuse("an address holds credentials", code="secret-in-address", place=shown, hint=hint)
    if parts.scheme.lower() not in _KNOWN:
        hint = f"known are paths, and addresses with {', '.join(f'{one}://' for one in _KNOWN)}"
        raise Misuse(f"{parts.scheme}:// is not known", code="unknown-storage", place=ErrorPlace(text), hint=hint)
    return RemoteStorage(text.rstrip("/"), access)


@dataclass(frozen=True, slots=True)
class LocalStorage(Storage):
    """A folder of this machine, or one that several machines share."""

    folder: Path

    @property
    def address(self) -> str:
        return str(self.folder)

    @property
    def is_local(self) -> bool:
        return True

    def below(self, name: str) -> LocalStorage:
        return LocalStorage(self.folder / name)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        write_whole(self.folder / name, content)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        path = self.folder / name
        make_folder(path.parent)
        with path.open("wb") as stream:
            yield stream
            sync_stream(stream)
        sync(path.parent)

    def entries(self, folder: str = "") -> list[FolderEntry]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(_entries_in(self.folder / folder))
        return []

    def size(self, name: str) -> int | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            return (self.folder / name).stat().st_size
        return None

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def delete_all(self) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)

    def on_disk(self, name: str, size: int) -> Path:
        return self.folder / name

    def fetch(self, name: str, target: Path, most: int) -> None:
        with (self.folder / name).open("rb") as stream, target.open("wb") as copy:
            _copy(stream, copy, most, f"{self.folder / name}")

    def delta_options(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True, slots=True)
class RemoteStorage(Storage):
    """A place in a store, by `pyarrow.fs`."""

    _address: str
    access: StorageAccess = field(default=NO_ACCESS, repr=False)

    @property
    def address(self) -> str:
        return self._address

    @property
    def is_local(self) -> bool:
        return False

    def below(self, name: str) -> RemoteStorage:
        return replace(self, _address=f"{self._address}/{name}")

    def read(self, name: str) -> bytes:
        with self._told(name), self.files.open_input_stream(self.path(name), compression=None) as stream:
            return cast(bytes, stream.read())

    def write(self, name: str, content: bytes) -> None:
        with self.writing(name) as stream:
            stream.write(content)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        path = self.path(name)
        partial = f"{path}.{uuid4().hex}.partial" if self.scheme in _RENAMING else path
        with self._told(name):
            if self.scheme in _RENAMING:
                self.files.create_dir(path.rpartition("/")[0])
            with self.files.open_output_stream(partial, compression=None) as stream:
                yield stream
            if partial != path:
                self.files.move(partial, path)

    def entries(self, folder: str = "") -> list[FolderEntry]:
        from pyarrow.fs import FileSelector, FileType

        with self._told(folder):
            found = self.files.get_file_info(FileSelector(self.path(folder), allow_not_found=True))
        kinds = {FileType.File: False, FileType.Directory: True}
        return sorted(
            FolderEntry(one.base_name, kinds[one.type], one.size or 0, one.mtime_ns or 0)
            for one in found
            if one.type in kinds
        )

    def size(self, name: str) -> int | None:
        from pyarrow.fs import FileType

        with self._told(name):
            found = self.files.get_file_info(self.path(name))
        return cast(int, found.size) if found.type is FileType.File else None

    def delete(self, name: str) -> None:
        with self._told(name), suppress(FileNotFoundError):
            self.files.delete_file(self.path(name))

    def delete_all(self) -> None:
        with self._told(""), suppress(FileNotFoundError):
            self.files.delete_dir_contents(self.path(""), missing_dir_ok=True)

    def on_disk(self, name: str, size: int) -> Path:
        return LocalCopies.of_user().get(f"{self._address}/{name}", size, lambda: self.read(name))

    def fetch(self, name: str, target: Path, most: int) -> None:
        with (
            self._told(name),
            self.files.open_input_stream(self.path(name), compression=None) as stream,
            target.open("wb") as copy,
        ):
            _copy(stream, copy, most, f"{self._address}/{name}")

    def delta_options(self) -> dict[str, str]:
        return self.access.s3(self.bucket).for_delta(limits().max_storage_s) if self.scheme in _S3 else {}

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """A file of which parts can be read, by pyarrow."""
        with self._told(name), self.files.open_input_file(self.path(name)) as file:
            yield file

    @property
    def scheme(self) -> str:
        """The first part of the address."""
        return self._address.partition("://")[0].lower()

    @property
    def bucket(self) -> str:
        """What stands behind it: the bucket, container or host."""
        return self._address.partition("://")[2].partition("/")[0]

    @property
    def files(self) -> Any:
        """The file system of pyarrow."""
        return _file_system(self.scheme, self.bucket, self.access, limits().max_storage_s)

    def path(self, name: str) -> str:
        """What the file system calls a file in this place."""
        inside = self._address.partition("://")[2] if self.scheme in _S3 else _inside(self._address)
        return f"{inside}/{name}".rstrip("/")

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """What a library says of a failure, as an error of ours without secrets."""
        import pyarrow as pa

        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            text = self.access.hidden(str(error)).strip()
            where = ErrorPlace(f"{self._address}/{name}".rstrip("/"))
            hint = "look whether the store can be reached with these credentials, and try again"
            raise Retryable(text, code="storage-failed", place=where, hint=hint) from None


def _copy(stream: Any, copy: BinaryIO, most: int, file: str) -> None:
    while chunk := stream.read(_CHUNK_BYTES):
        copy.write(chunk)
        if copy.tell() > most:
            hint = "cut it into smaller ones, or set COMITY_MAX_FETCHED_BYTES"
            raise Misuse(
                f"a file has more than {most:,} bytes", code="too-large-file", place=ErrorPlace(file), hint=hint
            )


def _entries_in(folder: Path) -> Iterator[FolderEntry]:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # it was taken away just now, or is a link that leads nowhere
            known = path.stat()
            yield FolderEntry(path.name, stat.S_ISDIR(known.st_mode), known.st_size, known.st_mtime_ns)


@lru_cache(maxsize=64)
def _file_system(scheme: str, host: str, access: StorageAccess, patience_s: int) -> Any:
    from pyarrow import fs

    if scheme in _S3:
        # Pauses double, to a second and a half for the third try, so that many tries take about so long.
        again = fs.AwsStandardS3RetryStrategy(max_attempts=patience_s.bit_length() + 2)
        # A file that is small is one request then, and not three.
        return fs.S3FileSystem(**access.s3(host).for_arrow(), retry_strategy=again, allow_delayed_open=True)
    return fs.FileSystem.from_uri(f"{scheme}://{host}/")[0]


def _inside(address: str) -> str:
    from pyarrow import fs

    return cast(str, fs.FileSystem.from_uri(address)[1])
