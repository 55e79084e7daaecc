"""Profiles that come and go while events are matched."""

from __future__ import annotations

import threading
import time
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.match.live import MAX_LATEST, LiveIndex

_TEXTS = ["x > 2", "x = 1 or s = 'a'", "s ends with 'b'", "not exists x", "x < 3 and s != 'a'", "x in (0, 2, 4)"]
_EVENTS = [{("x",): x, ("s",): s} for x in (None, 0, 1, 2, 3) for s in (None, "a", "ab")]
_BATCH = pa.RecordBatch.from_pydict({"x": [e[("x",)] for e in _EVENTS], "s": [e[("s",)] for e in _EVENTS]})
_STEPS = st.lists(st.integers(0, len(_TEXTS) - 1) | st.sampled_from(["remove", "compact"]), max_size=12)


def profile(number: int) -> Expression:
    return bind_text(_TEXTS[number % len(_TEXTS)], Scope())


def check(index: LiveIndex, kept: dict[int, Expression]) -> None:
    wanted = [[number for number, tree in kept.items() if holds(tree, event)] for event in _EVENTS]
    matches = index.match(_BATCH)
    assert [matches.of(event) for event in range(len(_EVENTS))] == wanted
    assert [sorted(index.match_one(event)) for event in _EVENTS] == wanted


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3), _STEPS, st.data())
def test_match_sees_every_change_at_once(first: int, steps: list[int | str], data: st.DataObject) -> None:
    index = LiveIndex([profile(number) for number in range(first)])
    kept = {number: profile(number) for number in range(first)}
    for step in steps:
        if step == "compact":
            index.compact()
        elif step == "remove":
            if kept:
                number = data.draw(st.sampled_from(sorted(kept)))
                index.remove(number)
                del kept[number]
        else:
            assert isinstance(step, int)
            kept[index.add(profile(step))] = profile(step)
        check(index, kept)
    assert len(index) == len(kept)


def test_add_many_moves_profiles_out_of_the_tiny_part() -> None:
    index, kept = LiveIndex([profile(0)]), {0: profile(0)}
    for number in range(1, 3 * MAX_LATEST):
        kept[index.add(profile(number))] = profile(number)
        if number % 5 == 0:
            index.remove(number - 2)
            del kept[number - 2]
        if number % 40 == 0:
            check(index, kept)
    deadline = time.monotonic() + 20
    while index._merging is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    check(index, kept)
    assert index.wants_compaction
    index.compact()
    assert not index.wants_compaction
    check(index, kept)


def test_remove_an_unknown_profile_is_refused() -> None:
    index = LiveIndex([profile(0)])
    index.remove(0)
    with pytest.raises(Misuse, match="no profile 0"):
        index.remove(0)


def test_match_goes_on_while_another_thread_changes_profiles() -> None:
    index = LiveIndex([profile(number) for number in range(50)])
    wanted = {number: {n for n in range(50) if holds(profile(n), event)} for number, event in enumerate(_EVENTS)}
    failed: list[str] = []
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            index.remove(index.add(profile(1)))

    changer = threading.Thread(target=change)
    changer.start()
    for _ in range(100):
        matches = index.match(_BATCH)
        for event, own in wanted.items():
            if {number for number in matches.of(event) if number < 50} != own:
                failed.append(str(event))
    stop.set()
    changer.join()
    assert not failed


def test_add_all_shows_a_group_as_a_whole() -> None:
    """A matcher beside it sees none of the group, or all of it, and all of it once the call is over."""
    index = LiveIndex([profile(0)])
    group = [bind_text("x > 2", Scope())] * (5 * MAX_LATEST)
    record = {("x",): 3}
    sizes: set[int] = set()
    done = threading.Event()

    def match() -> None:
        while not done.is_set():
            sizes.add(len(index.match_one(record)))

    matcher = threading.Thread(target=match)
    matcher.start()
    numbers = index.add_all(group)
    seen = index.match_one(record)
    done.set()
    matcher.join()
    assert sorted(seen) == [0, *numbers]
    assert sizes <= {1, 1 + len(group)}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2 * MAX_LATEST), st.floats(0, 1)), max_size=4), st.randoms())
def test_groups_come_and_go(groups: list[tuple[int, float]], random: Random) -> None:
    index, kept = LiveIndex(), dict[int, Expression]()
    for size, share in groups:
        trees = [profile(random.randrange(len(_TEXTS))) for _ in range(size)]
        kept.update(zip(index.add_all(trees), trees, strict=True))
        for number in random.sample(sorted(kept), int(share * len(kept))):
            index.remove(number)
            del kept[number]
        check(index, kept)
        index.compact()
        check(index, kept)
    assert len(index) == len(kept)


def test_what_was_read_of_removed_profiles_is_forgotten() -> None:
    """However many profiles come and go, what is kept follows those that are there."""
    index, kept = LiveIndex(), dict[int, Expression]()
    sizes: list[int] = []
    for turn in range(6):
        trees = [bind_text(f"x = {1000 * turn + n} or s ends with '{turn}-{n}'", Scope()) for n in range(200)]
        added = dict(zip(index.add_all([*trees, profile(turn)]), [*trees, profile(turn)], strict=True))
        for number in list(added)[:200]:
            index.remove(number)
        kept |= dict(list(added.items())[200:])
        index.compact()
        sizes.append(index._reading.nbytes)
        check(index, kept)
    assert max(sizes) < 2_000
    assert sum(len(channel.constants) for channel in index._reading.channels) < 20
    assert len(index._reading.tests) < 3


def test_a_profile_that_cannot_be_read_leaves_nothing_behind() -> None:
    index, kept = LiveIndex([profile(0)]), {0: profile(0)}
    with pytest.raises(AttributeError):
        index.add_all([profile(1), profile(2), None])  # type: ignore[list-item]
    check(index, kept)
    kept[index.add(profile(4))] = profile(4)
    check(index, kept)
    index.compact()
    check(index, kept)


@pytest.mark.parametrize(("is_shared", "rests"), [(True, True), (False, False)])
def test_changes_rest_only_if_another_thread_matches_meanwhile(
    is_shared: bool, rests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = LiveIndex([profile(0)], is_shared=is_shared)
    index.match_one(_EVENTS[0])
    rested: list[float] = []
    monkeypatch.setattr("comity.match.pace.sleep", rested.append)
    monkeypatch.setattr("comity.match.pace.STEP_S", 0.0)
    monkeypatch.setattr("comity.match.pace.RECENT_S", 1_000.0)
    index.add_all([profile(n) for n in range(20)])
    assert bool(rested) is rests


def test_compacting_beside_changes_loses_none_of_them() -> None:
    index, kept = LiveIndex([profile(n) for n in range(30)], is_shared=False), {n: profile(n) for n in range(30)}
    thread = index.compact_beside()
    for number in range(0, 30, 2):
        index.remove(number)
        del kept[number]
    for number, added in zip(index.add_all([profile(n) for n in range(30, 50)]), range(30, 50), strict=True):
        kept[number] = profile(added)
    thread.join(60)
    assert not thread.is_alive()
    check(index, kept)
    index.compact_beside().join(60)
    check(index, kept)
