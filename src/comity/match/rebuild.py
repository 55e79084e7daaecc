"""Building an index in another process: the arrays come back through a file that is mapped into memory, not copied.

`python -m comity.match.rebuild FILE` is the other process: what was read of profiles comes on standard input, the index
goes into the file.
"""

from __future__ import annotations

import mmap
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path as FilePath
from typing import IO, Any, NamedTuple

import pyarrow as pa

from comity.errors import Permanent
from comity.event.types import AttributeType
from comity.expression.tree import Expression
from comity.match.channels import Channel, Path
from comity.match.index import ProfileIndex
from comity.match.pace import Rest, no_rest
from comity.match.predicates import settled
from comity.match.reading import PredicateRows

_ALIGNMENT = 64


class Ingredients(NamedTuple):
    """What an index is built from: rows of profiles that were read, and what their numbers mean."""

    rows: PredicateRows
    channels: list[Channel]
    tests: list[Expression]
    attributes: Mapping[Path, AttributeType] | None = None
    sample: pa.RecordBatch | None = None


def build(ingredients: Ingredients, rest: Rest = no_rest) -> ProfileIndex:
    """The index over rows, ready for removals."""
    rows, channels, tests, attributes, sample = ingredients
    index = ProfileIndex.over(settled(rows, channels, tests, rest), attributes, sample, rest=rest)
    index.prepare_removal()
    return index


def build_elsewhere(ingredients: Ingredients) -> ProfileIndex:
    """What `build` gives, built by another process."""
    with tempfile.TemporaryDirectory(prefix="comity-") as folder:
        file = FilePath(folder) / "index"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "comity.match.rebuild", str(file)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # its exit status says more
                _send(process.stdin, ingredients)
        if process.returncode != 0:
            raise Permanent("the process that builds the index failed", code="index-build-failed")
        return read_index(file)


def _send(stream: IO[bytes], ingredients: Ingredients) -> None:
    """In pieces: each keeps the interpreter busy for a few milliseconds."""
    for channel in ingredients.channels:
        pickle.dump(channel, stream, protocol=5)
    pickle.dump(None, stream)
    pickle.dump(ingredients._replace(channels=[]), stream, protocol=5)
    stream.close()


def _receive(stream: IO[bytes]) -> Ingredients:
    channels: list[Channel] = []
    while (channel := pickle.load(stream)) is not None:
        channels.append(channel)
    rest: Ingredients = pickle.load(stream)
    return rest._replace(channels=channels)


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
    write_index(build(_receive(sys.stdin.buffer)), FilePath(sys.argv[1]))
