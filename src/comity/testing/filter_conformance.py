"""What a source that filters must do, as tests; `SourceConformance` has them, and skips them for other sources.

The source itself answers, with what it gives when it is opened with a generated ask. It is judged by the evaluator of
Comity: nothing that a profile wants may be left out, and what it gives, filtered by what is left for us, is what the
profile wants.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comity.connect.port import Ask, FilteringSource, Position, Source, TypeAsk
from comity.errors import ComityError
from comity.event import Event, Rejected, decode
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.language.ask import JointAsk
from comity.language.language import Language
from comity.language.languages import language as known_language
from comity.testing.asks import END, Inquiry, inquiries

PATIENCE_S = 20.0
"""Seconds that a source has for what it was given."""

Steps = Sequence[tuple[str, int]]
"""What happens to a source: `take` so many, `keep` what was taken, `change` to an ask, `crash`."""

STEPS = st.lists(
    st.tuples(st.just("take"), st.integers(1, 5))
    | st.tuples(st.just("keep"), st.just(0))
    | st.tuples(st.just("change"), st.integers(0, 2))
    | st.tuples(st.just("crash"), st.just(0)),
    max_size=12,
)


def _generated(strategy: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """One class of tests is inherited by several, each of which makes its own folders."""
    checks = [HealthCheck.differing_executors, HealthCheck.too_slow, HealthCheck.filter_too_much]
    bounds = settings(deadline=None, max_examples=50, report_multiple_bugs=False, suppress_health_check=checks)
    return lambda test: bounds(given(strategy)(test))


class FilterConformance:
    """Tests of a source that filters; `language` must be given if it is none of Comity's own."""

    language: Language | None = None
    """The language that the source understands."""

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        """A source, not yet open, that gives these records and, when it is bounded, ends."""
        raise NotImplementedError

    def feed(self, source: Source, lines: Sequence[bytes]) -> None:
        """Hand over to a source that was just opened what `make` could not give it."""

    def again(self, source: Source, folder: Path) -> Source:
        """The source as a new process would make it; this one was not closed."""
        return source

    @_generated(inquiries())
    def test_what_is_given_and_left_to_filter_is_what_profiles_want(self, inquiry: Inquiry) -> None:
        with self.asked(inquiry) as (source, asks, _):
            source.open(None, inquiry.as_ask(asks[0]))
            self.feed(source, inquiry.lines)
            given = {one.id for one in until_end(source)}
        check_given(inquiry.events(), given, asks[0])

    @_generated(inquiries())
    def test_attributes_that_are_read_are_given(self, inquiry: Inquiry) -> None:
        read = tuple(list(inquiry.type.attributes)[::2])
        with self.asked(inquiry) as (source, _, _):
            source.open(None, Ask((TypeAsk(inquiry.type.qualified_name, None, read), TypeAsk(END))))
            self.feed(source, inquiry.lines)
            given = until_end(source)
        sent = [decode(line) for line in inquiry.lines[:-1]]  # without types, as given: numbers as they are spelt
        assert [_only(one, read) for one in given] == [_only(one, read) for one in sent if isinstance(one, Event)]

    @_generated(st.tuples(inquiries(asks=3), STEPS))
    def test_change_neither_loses_nor_repeats(self, drawn: tuple[Inquiry, Steps]) -> None:
        inquiry, steps = drawn
        with self.asked(inquiry) as (source, asks, folder):
            taker = _Taker(source, [inquiry.as_ask(one) for one in asks])
            taker.open()
            self.feed(source, inquiry.lines)
            taker.follow(steps, lambda: self.filtering(self.again(taker.source, folder)))
            taker.to_the_end()
            taker.source.close()
        check_changes(inquiry.events(), taker.taken, asks, is_ordered=source.capability.ordered)

    def test_a_filter_that_is_none_is_refused(self, tmp_path: Path) -> None:
        source = self.filtering(self.make([], tmp_path))
        try:
            with pytest.raises(ComityError):
                source.open(None, Ask((TypeAsk("conformance.Reading", "\x00 (no filter"),)))
        finally:
            source.close()

    def filtering(self, source: Source) -> FilteringSource:
        """The source; skips the test if it does not say that it filters."""
        if source.capability.filters == "none":
            pytest.skip("this source does not filter")
        assert isinstance(source, FilteringSource), "a source that filters has `change`"
        return source

    @contextmanager
    def asked(self, inquiry: Inquiry) -> Iterator[tuple[FilteringSource, list[JointAsk], Path]]:
        """A source that has the records of an inquiry, and what it is asked for in turn; closed in the end."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            source = self.filtering(self.make(inquiry.lines, folder))
            spoken = self.language or known_language(source.capability.filters)
            assert spoken.name == source.capability.filters, "the capability names another language"
            try:
                yield source, inquiry.asks(spoken), folder
            finally:
                source.close()


def check_given(events: Sequence[Event], given: set[str], ask: JointAsk) -> None:
    """Whether a source gave what it was asked for, no less and no more, judged by the evaluator of Comity."""
    for event in events:
        is_given = event.id in given
        for part in ask.parts:
            is_wanted = holds(part.want.condition, event)
            assert is_given or not is_wanted, f"left out, asked for {ask.text}: {event}"
            filtered = is_given and holds(part.residual, event)
            assert filtered == is_wanted, f"given, asked for {ask.text}, left {render(part.residual)}: {event}"
        assert is_given == holds(ask.native, event), f"{ask.text} means something else to the source: {event}"


@dataclass(slots=True)
class _Taker:
    """Takes records as a landing does, and notes for each the asks that were in force since the one before."""

    source: FilteringSource
    asks: list[Ask]
    taken: list[tuple[str, frozenset[int]]] = field(default_factory=list)
    """Ids that were kept, each with the asks, by their number, under which it may have been looked at."""
    _held: list[tuple[str, frozenset[int]]] = field(default_factory=list)
    _asked: int = 0
    _since: frozenset[int] = frozenset({0})
    _kept_since: frozenset[int] = frozenset({0})
    _position: Position = None
    _noted: tuple[Position, int] = (None, 0)

    def open(self) -> None:
        position, self._asked = self._noted
        self.source.open(json.loads(json.dumps(position)), self.asks[self._asked])
        self._position = position

    def follow(self, steps: Steps, again: Callable[[], FilteringSource]) -> None:
        for name, number in steps:
            match name:
                case "take":
                    self.take(number)
                case "keep":
                    self.keep()
                case "change":
                    self.change(number)
                case "crash" if self.source.capability.durable:
                    self._held, self._since = [], self._kept_since
                    self.source = again()
                    self.open()

    def take(self, number: int) -> bool:
        """Whether there may be more."""
        batch = self.source.next_batch(number)
        if batch is None:
            return False
        for record in batch.records:
            found = record.rejected or decode(record.line)
            assert not isinstance(found, Rejected), found
            self._held.append((found.id, self._since))
            self._since = frozenset({self._asked})
        self._position = batch.position
        return not any(id == "end" for id, _ in self._held)

    def keep(self) -> None:
        self.taken += self._held
        self._held, self._kept_since, self._noted = [], self._since, (self._position, self._asked)
        if self._position is not None:
            self.source.acknowledge(self._position)

    def change(self, number: int) -> None:
        self.keep()
        self.source.change(self.asks[number])
        self._asked, self._since = number, self._since | {number}
        self._kept_since = self._since
        self._noted = (self._position, number)

    def to_the_end(self) -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        while not any(id == "end" for id, _ in self.taken):
            assert time.monotonic() < give_up_at, "the source did not give what everybody asked for"
            is_more = self.take(5)
            self.keep()
            assert is_more or self.taken[-1][0] == "end", "the source ended too early"


def check_changes(
    events: Sequence[Event], taken: Sequence[tuple[str, frozenset[int]]], asks: Sequence[JointAsk], *, is_ordered: bool
) -> None:
    """Whether each event was given that all asks want that it may have met, once, and none that no ask wants."""
    ids = [id for id, _ in taken]
    assert len(set(ids)) == len(ids), f"given twice: {ids}"
    order = {event.id: at for at, event in enumerate(events)} | {"end": len(events)}
    if not is_ordered:
        everything = frozenset().union(*(met for _, met in taken))
        taken = sorted(((id, everything) for id, _ in taken), key=lambda one: order[one[0]])
    assert [order[id] for id, _ in taken] == sorted(order[id] for id, _ in taken), f"in another order: {ids}"
    at, ever = 0, frozenset[int]()
    for id, met in taken:
        for event in events[at : order[id]]:
            assert not all(holds(asks[one].native, event) for one in met), (
                f"lost, asked for {_texts(asks, met)}: {event}"
            )
        at, ever = order[id] + 1, ever | met  # what an earlier ask wants may still come
        if id != "end":
            event = events[order[id]]
            assert any(holds(asks[one].native, event) for one in ever), (
                f"not asked for, but {_texts(asks, ever)}: {event}"
            )


def _texts(asks: Sequence[JointAsk], met: frozenset[int]) -> str:
    return "; then ".join(asks[one].text for one in sorted(met))


def until_end(source: Source) -> list[Event]:
    """What a source gives before the record of type `END`."""
    given: list[Event] = []
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        batch = source.next_batch(5)
        assert batch is not None, "the source ended without giving what everybody asked for"
        for record in batch.records:
            found = record.rejected or decode(record.line)
            assert isinstance(found, Event), found
            if found.type == END:
                return given
            given.append(found)
        source.acknowledge(batch.position)
    raise AssertionError("the source did not give what everybody asked for")


def _only(event: Event, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    return event.id, {name: value for name, value in event.data.items() if name in names}
