"""Standard input, by real pipes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import comity
from comity.connect.connectors.standard import StandardInput
from comity.errors import Misuse
from comity.limits import limited
from comity.testing.source_conformance import judged, line


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # the test may have closed it
            os.close(end)


def found(source: StandardInput) -> list[str] | None:
    batch = source.next_batch(100)
    return [judged(one) for one in batch.records] if batch is not None else None


def test_next_batch_does_not_wait_for_the_rest_of_a_line(pipe: tuple[int, int]) -> None:
    source = StandardInput(pipe[0])
    source.open()
    started_s = time.monotonic()
    os.write(pipe[1], b"\xef\xbb\xbf" + line(1) + b"\r\n" + line(2)[:10])
    assert found(source) == ["1"]
    assert found(source) == []
    assert time.monotonic() - started_s < 5
    os.write(pipe[1], line(2)[10:] + b"\n\n" + line(3))
    assert found(source) == ["2"]
    os.close(pipe[1])
    assert found(source) == ["3"]
    assert found(source) is None


def test_next_batch_of_lines_around_the_bound(pipe: tuple[int, int]) -> None:
    source = StandardInput(pipe[0])
    source.open()
    with limited(max_record_bytes=100):
        for size in (99, 100, 101, 5_000):
            os.write(pipe[1], b"x" * size + b"\r\n")
        os.write(pipe[1], line(1) + b"\n")
        assert found(source) == ["bad-json", "bad-json", "too-long", "too-long", "1"]


def test_records_tell_their_line(pipe: tuple[int, int]) -> None:
    source = StandardInput(pipe[0])
    source.open()
    os.write(pipe[1], b"\n\n" + line(1) + b"\n")
    batch = source.next_batch(5)
    assert batch is not None
    assert (batch.records[0].file, batch.records[0].number) == ("-", 3)


def test_open_where_there_is_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(Misuse) as caught:
        StandardInput().open()
    assert caught.value.code == "no-standard-input"


def test_a_process_reads_what_is_piped_into_it() -> None:
    code = """
import time
from comity.connect.connectors.standard import StandardInput
source = StandardInput()
source.open()
while (batch := source.next_batch(10)) is not None:
    print(len(batch.records), end=" ")
    time.sleep(0.001)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(comity.__file__).parents[1])}
    content = b"".join(line(at) + b"\n" for at in range(25))
    done = subprocess.run([sys.executable, "-c", code], input=content, env=environment, capture_output=True, timeout=60)
    assert sum(map(int, done.stdout.split())) == 25
    assert done.stderr == b""
