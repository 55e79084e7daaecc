"""Tables in expressions: the row that is found is the one that comparing row by row finds."""

from __future__ import annotations

import pickle
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from comity.contract.properties import properties
from comity.event.kinds import Value
from comity.expression.evaluate import compare, evaluate
from comity.expression.table_rows import TableRows
from comity.expression.tree import Attribute, Lookup
from comity.federation import load

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
VALUES: list[Value] = [
    *(True, False, 0, 1, -1, 2**53, 2**53 + 1, 0.0, -0.0, 1.0, 0.5, float(2**53), "", "1", "true", "a", b"a"),
    *("2026-03-01T12:00:00Z", NOON, timedelta(minutes=5), "PT5M", [1], {"a": 1}),
]
KEYS = st.sampled_from(VALUES[:16])
ANY = st.sampled_from(VALUES)


class One:
    def __init__(self, value: Value | None) -> None:
        self.value = value

    def get(self, path: tuple[str, ...]) -> Value | None:
        return self.value


@given(rows=st.lists(st.tuples(st.one_of(KEYS, ANY), st.integers()), max_size=12), wanted=st.one_of(st.none(), ANY))
def test_a_lookup_finds_the_first_row_whose_key_equals(rows: list[tuple[Value, Value]], wanted: Value | None) -> None:
    expected = next((value for key, value in rows if compare("=", key, wanted)), None)
    assert evaluate(Lookup("t", Attribute(("x",)), tuple(rows)), One(wanted)) == expected


def test_rows_are_a_tuple_that_travels() -> None:
    rows = TableRows([("a", 1), ("b", 2)])
    assert rows.first_of("b") == ("b", 2)
    assert (rows, hash(rows)) == ((("a", 1), ("b", 2)), hash((("a", 1), ("b", 2))))
    again = pickle.loads(pickle.dumps(rows))
    assert (type(again), again, vars(again)) == (TableRows, rows, {})
    assert Lookup("t", Attribute(("x",)), (("a", 1),)) == Lookup("t", Attribute(("x",)), TableRows([("a", 1)]))


def calls_of_check(folder: Path, rows: int) -> int:
    """How many functions of Python are called to load a contract with a table of so many rows, and to check it."""
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.yaml").write_text(f"domain: {name}\ntypes: {{T: {{attributes: {{code: string}}}}}}\n")
    (folder / "t.csv").write_text("local,common\n" + "".join(f"l{one:06},c{one:06}\n" for one in range(rows)))
    (folder / "c.yaml").write_text(
        "contract: c\ntypes: {T: {attributes: {code: string}}}\n"
        "members:\n  a: {type: T, map: {code: \"lookup('codes', code)\"}}\n  b: {type: T, map: same}\n"
        "tables: {codes: {file: t.csv, key: local, value: common}}\n"
    )
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        (mapping,) = load(folder).contracts["c"].members["a"]
        found = properties(mapping)
    finally:
        sys.setprofile(None)
    assert found.inverse is not None
    return count


def test_the_check_of_a_contract_grows_with_its_tables_and_by_little(tmp_path: Path) -> None:
    """Counted, not timed: each row costs the same few calls, however many rows and trials there are."""
    calls_of_check(tmp_path / "first", 10)  # what is imported, and compiled once
    some, more = calls_of_check(tmp_path / "some", 8_000), calls_of_check(tmp_path / "more", 16_000)
    assert (more - some) / 8_000 < 40
