"""What tasks in workers run in: the driver's bounds, and modules that no collection looks through again."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pytest

from comity.limits import Limits, limits
from comity.pipeline.in_worker import in_worker


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many modules there were each time that what is there was left out of collections."""
    calls: list[int] = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append(len(sys.modules)))
    return calls


def test_the_bounds_of_the_driver_are_in_force_inside_only() -> None:
    before = limits().max_record_bytes
    with in_worker(Limits(max_record_bytes=7)):
        assert limits().max_record_bytes == 7
    assert limits().max_record_bytes == before


def test_what_earlier_tasks_imported_is_left_out_of_collections_once(
    frozen: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first module of a test", "second module of a test"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        for _ in range(3):
            with in_worker(Limits()):
                pass
    assert frozen == [len(sys.modules) - 1, len(sys.modules)]
