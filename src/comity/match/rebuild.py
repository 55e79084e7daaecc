"""Building an index in another process: the arrays come back through a file that is mapped into memory, not copied.

`python -m comity.match.rebuild FILE` is the other process: profiles on standard input, the index in the file.
"""

from __future__ import annotations

import mmap
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from typing import IO, Any

import pyarrow as pa

from comity.errors import Permanent
from comity.event.types import AttributeType
from comity.expression.tree import Expression
from comity.match.channels import Path
from comity.match.index import ProfileIndex

CHUNK = 500
"""Profiles that are sent at a time; sending one chunk keeps the interpreter busy for a few milliseconds."""
_ALIGNMENT = 64


def build_elsewhere(
    profiles: Sequence[Expression],
    attributes: Mapping[Path, AttributeType] | None,
    sample: pa.RecordBatch | None,
    ids: Sequence[int],
) -> ProfileIndex:
    """What `ProfileIndex.build` gives, built by another process."""
    with tempfile.TemporaryDirectory(prefix="comity-") as folder:
        file = FilePath(folder) / "index"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "comity.match.rebuild", str(file)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # its exit status says more
                _send(process.stdin, profiles, attributes, sample, ids)
        if process.returncode != 0:
            raise Permanent("the process that builds the index failed", code="index-build-failed")
        return read_index(file)


def _send(
    stream: IO[bytes],
    profiles: Sequence[Expression],
    attributes: Mapping[Path, AttributeType] | None,
    sample: pa.RecordBatch | None,
    ids: Sequence[int],
) -> None:
    pickle.dump((attributes, sample, list(ids)), stream, protocol=5)
    for start in range(0, len(profiles), CHUNK):
        pickle.dump(profiles[start : start + CHUNK], stream, protocol=5)
    pickle.dump(None, stream)
    stream.close()


def _receive(stream: IO[bytes]) -> ProfileIndex:
    attributes, sample, ids = pickle.load(stream)
    profiles: list[Expression] = []
    while (chunk := pickle.load(stream)) is not None:
        profiles.extend(chunk)
    return ProfileIndex.build(profiles, attributes, sample, ids=ids)


def write_index(index: ProfileIndex, file: FilePath) -> None:
    """The index in a file: the arrays one after the other, then the rest with their places."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(index, protocol=5, buffer_callback=buffers.append)
    places: list[tuple[int, int]] = []
    with file.open("wb") as stream:
        for buffer in buffers:
            stream.write(bytes(-stream.tell() % _ALIGNMENT))
            raw = buffer.raw()
            places.append((stream.tell(), raw.nbytes))
            stream.write(raw)
        start = stream.tell()
        pickle.dump((places, rest), stream, protocol=5)
        stream.write(start.to_bytes(8, "little"))


def read_index(file: FilePath) -> ProfileIndex:
    """The index in a file; its arrays are read when they are used, and changes to them stay in this process."""
    with file.open("rb") as stream:
        memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    start = int.from_bytes(memory[-8:], "little")
    places, rest = pickle.loads(memory[start:-8])
    whole = memoryview(memory)
    buffers: list[Any] = [whole[at : at + size] for at, size in places]
    index: ProfileIndex = pickle.loads(rest, buffers=buffers)
    return index


if __name__ == "__main__":
    write_index(_receive(sys.stdin.buffer), FilePath(sys.argv[1]))
