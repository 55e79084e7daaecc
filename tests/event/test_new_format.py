"""A new format is a reader, and a row in the table of formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comity.event import read_events
from comity.event.event import Event
from comity.event.files import event_files
from comity.event.formats import table
from comity.event.formats.jsonlines import Rejected
from comity.event.formats.table import FileFormat, Form, OnSpark, format_of
from comity.run.choice import Estimate
from comity.run.sources import StoredFiles

HEAD = ("id", "source", "type", "room")


def read_pipes(path: str, types: Any = None, *, name: str | None = None, after: int = 0) -> Iterator[tuple[int, bytes]]:
    """Rows whose cells stand between `|`."""
    for number, row in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        if number > after:
            envelope = dict(zip(HEAD, row.split("|"), strict=True))
            data = {"room": envelope.pop("room")}
            yield number, json.dumps({"specversion": "1.0", **envelope, "data": data}).encode()


PIPES = FileFormat(".pipes", Form.DECODED, OnSpark.WHOLE, f"{__name__}:read_pipes", expands=2)


@pytest.fixture
def pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "FORMATS", (*table.FORMATS, PIPES))
    monkeypatch.setattr(table, "SUFFIXES", (*table.SUFFIXES, PIPES.suffix))


@pytest.mark.usefixtures("pipes")
def test_a_new_format_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pipes").write_text("1|/house|Fire|attic\n2|/house|Fire|hall\n")
    found = list(read_events(tmp_path / "a.pipes"))
    assert [one.data for one in found if isinstance(one, Event)] == [{"room": "attic"}, {"room": "hall"}]
    assert format_of("a.pipes") is PIPES
    assert event_files(tmp_path) == [tmp_path / "a.pipes"]
    assert Estimate.of(StoredFiles([str(tmp_path / "a.pipes")])).bytes == 2 * (tmp_path / "a.pipes").stat().st_size


@pytest.mark.usefixtures("pipes")
def test_a_reader_that_fails_costs_the_rest_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.pipes").write_text("1|/house|Fire|attic\nno cells\n")
    first, second = read_events(tmp_path / "a.pipes")
    assert isinstance(first, Event)
    assert isinstance(second, Rejected)
    assert second.faults[0].code == "decoder-failed"


def test_every_reader_of_the_table_is_there() -> None:
    for format in table.FORMATS:
        assert bool(format.reader) is (format.form is Form.DECODED)
