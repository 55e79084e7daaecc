"""The tests that events of one source type are put to, and the ways behind them; they come and go while it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from comity.event.event import Event
from comity.event.types import EventType
from comity.expression.compile import Test as Holds
from comity.expression.compile import compile_filter
from comity.expression.tree import Expression
from comity.keyed import digest
from comity.match.match import INDEXED
from comity.match.typed import declared_paths
from comity.plan.ways import Way, Ways

if TYPE_CHECKING:
    import pyarrow as pa

    from comity.match.live import LiveIndex


@dataclass(slots=True, eq=False)
class PlannedStep:
    """A test, and the way on which a hit goes on."""

    profile: str | None
    way: Way
    condition: Expression
    _condition_key: str | None = field(default=None, init=False)

    def is_same(self, other: PlannedStep) -> bool:
        """Whether two steps of one profile on one way ask the same."""
        return self.condition is other.condition or self._key() == other._key()

    def _key(self) -> str:
        if self._condition_key is None:
            self._condition_key = digest(self.condition)
        return self._condition_key


def steps_of(ways: Ways) -> dict[str, list[PlannedStep]]:
    """By source type, the steps of a plan in their order."""
    return {
        name: [PlannedStep(test.profile, ways.ways[test.way], test.condition) for test in tests]
        for name, tests in ways.tests.items()
    }


class TypeTests:
    """Finds the steps whose tests hold, in the order of the plan: of two ways to a profile the first counts.

    A few tests are made one by one; many of them by an index that changes while it matches.
    """

    def __init__(self, type: EventType, steps: Sequence[PlannedStep]) -> None:
        self.type = type
        self._steps: dict[int, PlannedStep] = {}
        """By number, in the order of the plan."""
        self._ranks: dict[int, int] | None = None
        """The place of each number in that order, where numbers do not say it themselves."""
        self._holds: dict[int, Holds] = {}
        self._index: LiveIndex | None = None
        self._next = 0
        self.change(steps)

    def __len__(self) -> int:
        return len(self._steps)

    def match_one(self, event: Event) -> list[PlannedStep]:
        """The steps that an event takes."""
        if self._index is not None:
            return [self._steps[number] for number in self._in_order(self._index.match_one(event))]
        return [self._steps[number] for number, holds in self._holds.items() if holds(event)]

    def match_batch(self, batch: pa.RecordBatch) -> Iterator[tuple[int, list[PlannedStep]]]:
        """The same for those events of a batch that take any; columns are named by dotted path."""
        matches = self._indexed().match(batch)
        bounds, numbers = matches.offsets.tolist(), matches.ids.tolist()
        for row, (begin, end) in enumerate(pairwise(bounds)):
            if begin < end:
                yield row, [self._steps[number] for number in self._in_order(numbers[begin:end])]

    def change(self, steps: Sequence[PlannedStep]) -> tuple[int, int]:
        """Other steps from now on, in a group; those that stay are not touched. Gives how many came and went."""
        numbers = self._kept(steps)
        gone = self._steps.keys() - set(numbers)
        come = [at for at, number in enumerate(numbers) if number is None]
        for at, number in zip(come, self._exchange([steps[at] for at in come], gone), strict=True):
            numbers[at] = number
        self._steps = {number: step for number, step in zip(numbers, steps, strict=True) if number is not None}
        is_ascending = all(one < other for one, other in pairwise(self._steps))
        self._ranks = None if is_ascending else {number: rank for rank, number in enumerate(self._steps)}
        if self._index is None:
            self._settle()
        return len(come), len(gone)

    def _kept(self, steps: Iterable[PlannedStep]) -> list[int | None]:
        """For each step the number that it has already, None for a new one."""
        known: dict[tuple[str | None, str], list[int]] = {}
        for number, step in self._steps.items():
            known.setdefault((step.profile, step.way.key), []).append(number)
        found: list[int | None] = []
        for step in steps:
            same = known.get((step.profile, step.way.key), [])
            kept = next((number for number in same if self._steps[number].is_same(step)), None)
            if kept is not None:
                same.remove(kept)
            found.append(kept)
        return found

    def _exchange(self, come: Sequence[PlannedStep], gone: Collection[int]) -> list[int]:
        """Put steps in the place of others; gives their numbers."""
        if self._index is not None:
            for number in gone:
                self._index.remove(number)
            numbers = self._index.add_all([step.condition for step in come]) if come else []
            if self._index.wants_compaction:
                self._index.compact()  # then what is gone leaves nothing
            return numbers
        self._next += len(come)
        return list(range(self._next - len(come), self._next))

    def _settle(self) -> None:
        """An index once there are many; until then a test each, in the order of the plan."""
        if len(self._steps) >= INDEXED:
            self._indexed()
        else:
            self._holds = {
                number: self._holds.get(number) or compile_filter(step.condition)
                for number, step in self._steps.items()
            }

    def _indexed(self) -> LiveIndex:
        if self._index is None:
            from comity.match.live import LiveIndex  # its kernels take seconds to load, and few events do without

            self._steps, self._ranks, self._holds = dict(enumerate(self._steps.values())), None, {}
            conditions = [step.condition for step in self._steps.values()]
            self._index = LiveIndex(conditions, dict(declared_paths(self.type.attributes)))
        return self._index

    def _in_order(self, numbers: list[int]) -> list[int]:
        return sorted(numbers) if self._ranks is None else sorted(numbers, key=self._ranks.__getitem__)
