"""Landing from a source that filters: whatever changes or crashes, nothing is lost that was wanted all along."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.connect import landing as landing_module
from comity.connect.connectors.files import FilesSource
from comity.connect.connectors.memory.source import MemorySource
from comity.connect.landing import Landing
from comity.connect.port import FOR_EVERYTHING, Ask, Capability, Position, TypeAsk
from comity.errors import Permanent, Retryable
from comity.limits import limited
from comity.testing.source_conformance import line

NOTE = ".landed.position.json"


def between(low: int, high: int) -> Ask:
    return Ask((TypeAsk("Tick", f"x >= {low} & x <= {high}"),))


def tick(number: int, x: int) -> bytes:
    return line(number, x=x)


def landed(folder: Path) -> list[int]:
    lines = [one for path in sorted(folder.glob("[!._]*.jsonl")) for one in path.read_bytes().splitlines()]
    return [int(json.loads(one)["id"]) for one in lines]


def noted(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / NOTE).read_bytes())["content"]
    return found


def run(landing: Landing) -> None:
    landing.open()
    while not landing.step().is_ended:
        pass
    landing.close()


class Opened(MemorySource):
    """Notes how it is opened and changed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.told: list[tuple[Any, ...]] = []
        super().__init__(*arguments, **{"filters": "terms", **options})

    def open(self, position: Position = None, ask: Ask = FOR_EVERYTHING) -> None:
        self.told.append(("open", position, ask))
        super().change(ask)
        self._at = position or 0

    def change(self, ask: Ask) -> None:
        self.told.append(("change", ask))
        super().change(ask)


def test_open_gives_the_source_its_ask_and_notes_it(tmp_path: Path) -> None:
    source = Opened([tick(at, at) for at in range(6)])
    run(Landing(source, tmp_path, ask=between(2, 3)))
    assert source.told == [("open", None, between(2, 3))]
    assert landed(tmp_path) == [2, 3]
    asked = noted(tmp_path)["asked"]
    assert asked == {"types": [{"type": "Tick", "native": "x >= 2 & x <= 3", "attributes": None}]}


def test_open_again_goes_on_under_the_ask_that_was_noted_and_changes_then(tmp_path: Path) -> None:
    items = [tick(at, at) for at in range(6)]
    run(Landing(Opened(items[:4]), tmp_path, ask=between(2, 9)))
    source = Opened(items)
    run(Landing(source, tmp_path, ask=between(0, 4)))
    assert source.told == [("open", 4, between(2, 9)), ("change", between(0, 4))]
    assert landed(tmp_path) == [2, 3, 4]


def test_open_after_a_position_from_before_sources_were_asked(tmp_path: Path) -> None:
    items = [tick(at, at) for at in range(6)]
    run(Landing(MemorySource(items[:3]), tmp_path))
    assert "asked" not in noted(tmp_path)
    source = Opened(items)
    run(Landing(source, tmp_path, ask=between(5, 5)))
    assert source.told == [("open", 3, FOR_EVERYTHING), ("change", between(5, 5))]
    assert landed(tmp_path) == [0, 1, 2, 5]


def test_change_counts_behind_what_was_taken(tmp_path: Path) -> None:
    source = Opened([tick(at, at % 2) for at in range(4)], live=True)
    landing = Landing(source, tmp_path, ask=between(0, 0), roll_s=1e9)
    landing.open()
    landing.step()
    landing.change(between(1, 1))
    source.items += [tick(at, at % 2) for at in range(4, 8)]
    landing.step()
    landing.flush()
    landing.close()
    assert landed(tmp_path) == [0, 2, 5, 7]
    assert noted(tmp_path)["position"] == 8


def test_change_to_the_same_ask_tells_the_source_nothing(tmp_path: Path) -> None:
    source = Opened([tick(0, 0)], live=True)
    landing = Landing(source, tmp_path, ask=between(0, 0))
    landing.open()
    landing.change(between(0, 0))
    landing.step()
    landing.close()
    assert [one[0] for one in source.told] == ["open"]


def test_change_does_nothing_to_a_source_without_filters(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(tick(1, 1) + b"\n")
    landing = Landing(FilesSource(tmp_path / "a.jsonl"), tmp_path / "out", ask=between(5, 6))
    landing.open()
    landing.change(between(7, 8))
    while not landing.step().is_ended:
        pass
    landing.close()
    assert landed(tmp_path / "out") == [1]
    assert "asked" not in noted(tmp_path / "out")
    assert landing.asked == FOR_EVERYTHING


def test_change_wakes_a_source_that_sleeps(tmp_path: Path) -> None:
    source = Opened([tick(0, 0)], live=True, pause_s=600)
    with Landing(source, tmp_path, ask=between(0, 0), roll_s=0) as landing:
        until(lambda: landed(tmp_path))
        source.items += [tick(1, 1)]
        landing.change(between(1, 1))
        until(lambda: landed(tmp_path) == [0, 1])


class FailsToChange(Opened):
    """The first time that it is told."""

    def change(self, ask: Ask) -> None:
        is_first = not [one for one in self.told if one[0] == "change"]
        super().change(ask)
        if is_first:
            raise Retryable("not now", code="told-to-fail")


def test_change_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing_module, "_FIRST_DELAY_S", 0.0)
    source = FailsToChange([tick(0, 0)], live=True, pause_s=0)
    with Landing(source, tmp_path, ask=between(0, 0), roll_s=0) as landing:
        until(lambda: landed(tmp_path))
        landing.change(between(1, 1))
        until(lambda: landing.asked == between(1, 1))
        source.items += [tick(1, 1)]
        until(lambda: landed(tmp_path) == [0, 1])
    assert [one[0] for one in source.told] == ["open", "change", "open", "change"]


def test_a_source_that_filters_and_cannot_change_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    source = FilesSource(tmp_path / "a.jsonl")
    source.capability = Capability("memory-rows")
    with pytest.raises(Permanent) as caught:
        Landing(source, tmp_path / "out").open()
    assert caught.value.code == "broken-connector"


def until(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not condition() and time.monotonic() < give_up_at:
        time.sleep(0.01)
    assert condition()


class Killed(BaseException):
    """The process ends here."""


class Mortal:
    """Ends the process at the n-th change of the disk, or word to the source, before or after it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left, self.is_after = -1, False
        for name in ("write_new", "write_whole"):
            patch.setattr(landing_module, name, self._wrapped(getattr(landing_module, name)))
        patch.setattr(Path, "rename", self._wrapped(Path.rename))
        for name in ("acknowledge", "change"):
            patch.setattr(MemorySource, name, self._wrapped(getattr(MemorySource, name)))

    def _wrapped(self, call: Any) -> Any:
        def wrapped(*arguments: Any) -> Any:
            self.left -= 1
            is_last = self.left == -1
            if is_last and not self.is_after:
                raise Killed
            result = call(*arguments)
            if is_last:
                raise Killed
            return result

        return wrapped


STEPS = st.lists(
    st.tuples(st.just("feed"), st.lists(st.integers(0, 9), min_size=1, max_size=4))
    | st.tuples(st.just("step"), st.integers(1, 3))
    | st.tuples(st.just("change"), st.tuples(st.integers(0, 9), st.integers(0, 9)))
    | st.tuples(st.just("kill"), st.tuples(st.integers(0, 5), st.booleans())),
    max_size=25,
)


@settings(max_examples=150)
@given(STEPS, st.integers(1, 4), st.booleans())
def test_what_is_wanted_all_along_is_landed_once(
    tmp_path_factory: pytest.TempPathFactory, steps: Sequence[tuple[str, Any]], rows: int, can_replay: bool
) -> None:
    world = World(tmp_path_factory.mktemp("landing"), can_replay)
    with limited(max_landed_rows=rows), pytest.MonkeyPatch.context() as patch:
        world.mortal = Mortal(patch)
        for name, what in steps:
            world.do(name, what)
        world.do("feed", list(range(10)))
        world.finish()
    world.check()


class World:
    """A source that lives on while landings die."""

    mortal: Mortal

    def __init__(self, folder: Path, can_replay: bool) -> None:
        self.folder, self.values = folder, list[int]()
        self.source = MemorySource(live=True, can_replay=can_replay, filters="terms", pause_s=0)
        self.ranges = [(0, 9)]
        self.landing: Landing | None = None
        self.fresh = 0

    def do(self, name: str, what: Any) -> None:
        match name:
            case "feed":
                self.source.items += [tick(len(self.values) + at, x) for at, x in enumerate(what)]
                self.values += what
            case "step":
                self.step(what)
            case "change":
                self.ranges.append((min(what), max(what)))
                if self.landing is not None:
                    self.landing.change(self.ask)
            case "kill":
                self.mortal.left, self.mortal.is_after = what

    @property
    def ask(self) -> Ask:
        return between(*self.ranges[-1])

    def step(self, count: int) -> None:
        try:
            if self.landing is None:
                self.landing = Landing(self.source, self.folder, ask=self.ask, roll_s=0)
                self.landing.open()
            for _ in range(count):
                self.landing.step()
        except Killed:
            assert self.landing is not None
            self.landing._unlock()  # as the system does for a process that is gone
            self.landing = None

    def finish(self) -> None:
        self.mortal.left = -1
        self.step(1)  # the last ask is in force now
        self.fresh = len(self.values)
        self.do("feed", list(range(10)))
        self.step(3)
        assert self.landing is not None
        self.landing.flush()
        self.landing.close()

    def check(self) -> None:
        given = landed(self.folder)
        found = list(dict.fromkeys(given))
        assert given == found or not self.source.capability.can_replay, "repeated"
        assert found == sorted(found), "in another order"
        always = [at for at, x in enumerate(self.values) if all(low <= x <= high for low, high in self.ranges)]
        assert set(always) <= set(found), "lost, though it was wanted all along"
        ever = {at for at, x in enumerate(self.values) if any(low <= x <= high for low, high in self.ranges)}
        assert set(found) <= ever, "never wanted"
        low, high = self.ranges[-1]
        new = [at for at, x in enumerate(self.values) if at >= self.fresh and low <= x <= high]
        assert [at for at in found if at >= self.fresh] == new, "after the last change it is what the last ask wants"
