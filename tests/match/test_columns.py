"""Every kind of Arrow column is matched as the values in it are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from comity.event.event import Event
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.match.columns import column_at
from comity.match.index import ProfileIndex

_MOMENT = datetime(2024, 3, 1, tzinfo=UTC)
_TEXTS = (
    *("x > 5", "x >= 5.5", "x = 7", "x != 7", "not x > 5", "x in (7, 8)", "x not in (7, 8)", "x between 5 and 8"),
    *("exists x", "not exists x", "x + 0 > 5", "x = true", "x = '7'", "x > '0'", "x starts with '7'", "x contains '7'"),
    *("x >= 2024-02-29T12:00:00Z", "x < 2024-02-29T12:00:00Z", "x > 5 s", "x = 7 s"),
)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 7, None, 2**63 - 1], pa.uint64()),
        pa.array([1, 7, None], pa.uint64()).dictionary_encode(),
        pa.array([1, 7, None]).dictionary_encode(),
        pa.array([1.5, 7.0, None]).dictionary_encode(),
        pa.array([1.5, 7.0, None], pa.float32()),
        pa.array([True, False, None]).dictionary_encode(),
        pa.array(["7", "17", None], pa.string_view()),
        pa.array([_MOMENT, _MOMENT - timedelta(days=9), None], pa.timestamp("us", "UTC")).dictionary_encode(),
        pa.array([timedelta(seconds=7), timedelta(0), None], pa.duration("us")).dictionary_encode(),
        pa.array([b"7", None]),
        pa.array([["7"], None]),
        pa.nulls(2),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("times", [1, 200])
def test_every_kind_of_column_matches_as_its_values_do(column: pa.Array, times: int) -> None:
    trees = [bind_text(text, Scope()) for text in _TEXTS]
    values = column.to_pylist() * times
    events = [Event("1", "/a", "T", data={} if value is None else {"x": value}) for value in values]
    whole = pa.concat_arrays([column] * times)
    matches = ProfileIndex.build(trees).match(pa.RecordBatch.from_arrays([whole], ["x"]))
    expected = [[number for number, tree in enumerate(trees) if holds(tree, event)] for event in events]
    assert [matches.of(at) for at in range(len(events))] == expected


def test_column_at_looks_for_the_longest_name_first_and_then_inside() -> None:
    device = pa.array([{"load": {"now": 1}}, None, {"load": None}])
    batch = pa.RecordBatch.from_pydict({"device": device, "device.load": pa.array([{"now": 5}, None, None])})
    found = {
        path: column if (column := column_at(batch, path)) is None else column.to_pylist()
        for path in [("device", "load", "now"), ("device", "none"), ("other",), ("device", "load", "now", "then")]
    }
    assert list(found.values()) == [[5, None, None], None, None, None]
    inside = column_at(batch.select(["device"]), ("device", "load", "now"))
    assert inside is not None
    assert inside.to_pylist() == [1, None, None]
