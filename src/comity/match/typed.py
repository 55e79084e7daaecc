"""Many conditions on events of one type: which of them hold, for one event or for an Arrow batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from comity.event.event import Event
from comity.event.types import AttributeType, EventType
from comity.expression.compile import Test, compile_filter
from comity.expression.tree import TRUE, Expression
from comity.match.match import INDEXED

if TYPE_CHECKING:
    import pyarrow as pa

    from comity.match.index import Matches, ProfileIndex

Path = tuple[str, ...]


@dataclass(slots=True)
class TypedMatcher:
    """Finds the conditions that hold, by their position.

    A few conditions are tested one by one; many of them, and every batch, go through the index, whose kernels take a
    second to load. An index over many conditions takes seconds to build, so it goes along to other processes.

    >>> from comity.event.kinds import Kind
    >>> from comity.expression.bind import bind_text
    >>> from comity.expression.scope import Scope
    >>> fire = EventType("Fire", "house", own={"heat": AttributeType(Kind.FLOAT)})
    >>> matcher = TypedMatcher(fire, [bind_text(text, Scope(fire)) for text in ("heat > 40", "heat < 10")])
    >>> matcher.match_one(Event("1", "/house", "house.Fire", data={"heat": 50.0}))
    [0]
    """

    type: EventType
    conditions: Sequence[Expression]
    _tests: list[Test] | None = field(default=None, init=False)
    _index: ProfileIndex | None = field(default=None, init=False)

    def match_one(self, event: Event) -> list[int]:
        """The conditions that hold for an event, in ascending order."""
        if len(self.conditions) >= INDEXED:
            return sorted(self.index.match_one(event))
        return [number for number, test in enumerate(self.tests) if test(event)]

    def match_batch(self, batch: pa.RecordBatch) -> Matches:
        """The conditions that hold for each event of a batch, whose columns are named by dotted path."""
        return self.index.match(batch)

    @property
    def tests(self) -> list[Test]:
        if self._tests is None:
            self._tests = [compile_filter(condition) for condition in self.conditions]
        return self._tests

    @property
    def index(self) -> ProfileIndex:
        if self._index is None:
            # The kernels are compiled code that takes seconds to load, and few events do without it.
            from comity.match.index import ProfileIndex

            self._index = ProfileIndex.build(self.conditions, dict(declared_paths(self.type.attributes)))
        return self._index

    def __getstate__(self) -> tuple[object, ...]:
        if len(self.conditions) < INDEXED:
            return self.type, self.conditions, None
        # With the index the conditions are not looked at any more, and there are many of them.
        return self.type, [TRUE] * len(self.conditions), self.index

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.type, self.conditions, self._index = state
        self._tests = None


def declared_paths(attributes: Mapping[str, AttributeType], prefix: Path = ()) -> Iterator[tuple[Path, AttributeType]]:
    """Every attribute of a type by its path, those inside structs too."""
    for name, declared in attributes.items():
        path = (*prefix, name)
        yield path, declared
        yield from declared_paths(declared.attributes, path)
