"""The table of holders gives what a look at each event and each holder gives, however often holders change."""

from __future__ import annotations

from random import Random

import pytest

from comity.route import holder_table
from comity.route.filters import FilterPool
from comity.route.holder_table import HolderTable
from comity.route.passed import PassedFilters
from comity.route.wanted import Held

_FILTERS, _EVENTS = 12, 30


def _plainly(held: dict[int, list[Held]], passed: list[list[int]], rows: list[int]) -> object:
    found: dict[str, dict[int, tuple[list[object], bool]]] = {}
    for row, numbers in zip(rows, passed, strict=True):
        for one in (one for number in numbers for one in held.get(number, ())):
            keys, durable = found.setdefault(one.client, {}).get(row, ([], False))
            found[one.client][row] = ([*keys, one.key], durable or one.durable)
    return {name: {row: (sorted(keys, key=str), d) for row, (keys, d) in own.items()} for name, own in found.items()}


@pytest.mark.parametrize("seed", range(8))
def test_clients_get_what_they_hold(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holder_table, "_SPARE", 4)
    chance, filter = Random(seed), FilterPool().read("n > 1")
    table, held = HolderTable(), dict[int, list[Held]]()
    table.make_room(_FILTERS)
    for key in range(60):
        number = chance.randrange(_FILTERS)
        if chance.random() < 0.4:
            table.release(number)
            held.pop(number, None)
        else:
            some = [
                Held(f"client {chance.randrange(4)}", chance.choice((key, key, f"key {key}")), filter, d, None, 0)
                for d in (chance.random() < 0.2, False, False)[: chance.randint(1, 3)]
            ]
            table.hold(number, some)
            held[number] = some
        rows = sorted(chance.sample(range(100), _EVENTS))
        passed = [chance.sample(range(_FILTERS), chance.choice((0, 0, 1, 3))) for _ in rows]
        found = table.of(PassedFilters.of(rows, passed))
        assert all(one.rows == sorted(set(one.rows)) for one in found.values())
        assert {
            name: {row: (sorted(one.keys_of(row), key=str), row in one.durable) for row in one.rows}
            for name, one in found.items()
        } == _plainly(held, passed, rows)
