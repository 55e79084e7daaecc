"""Events that can be counted: what filters match is then a set, and comparing filters is comparing sets.

This is how runs are judged. It shares nothing with how brokers compare filters: a filter is asked about every event, by
the reference evaluator. A set is a whole number with a bit for each event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from comity.event.kinds import Value
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope

Record = Mapping[tuple[str, ...], Value]
"""An event as filters read it: values by the paths of attributes."""
Events = int
"""A set of events of a space."""


class EventSpace:
    """Some events, and which of them a filter matches.

    >>> space = EventSpace([{("x",): 1}, {("x",): 5}, {}])
    >>> space.of("x > 3"), space.of("not x > 3"), space.everything
    (2, 5, 7)
    """

    def __init__(self, records: Iterable[Record], *, is_complete: bool = False, judged: int | None = None) -> None:
        self.records: Sequence[Record] = list(records)
        self._judged = self.records[:judged]
        self.is_complete = is_complete
        """Whether filters that differ at all differ on one of the events; otherwise they are a sample, or only the
        first so many are `judged`.
        """
        self._known: dict[str, Events] = {}

    @property
    def everything(self) -> Events:
        return (1 << len(self._judged)) - 1

    def of(self, text: str) -> Events:
        """The events that a filter matches."""
        found = self._known.get(text)
        if found is None:
            tree = bind_text(text, Scope())
            found = sum(1 << number for number, record in enumerate(self._judged) if holds(tree, _Reader(record)))
            self._known[text] = found
        return found

    def union(self, texts: Iterable[str]) -> Events:
        """The events that any of them matches."""
        found = 0
        for text in texts:
            found |= self.of(text)
        return found

    def shown(self, events: Events, most: int = 3) -> str:
        """Some of the events of a set, for a message."""
        numbers = [number for number in range(len(self._judged)) if events >> number & 1]
        texts = [_written(self.records[number]) for number in numbers[:most]]
        return ", ".join([*texts, *(["…"] if len(numbers) > most else [])])


class _Reader:
    """A record as the evaluator reads it."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def get(self, path: tuple[str, ...]) -> Value | None:
        return self._record.get(path)


def _written(record: Record) -> str:
    values: dict[str, Any] = {".".join(path): value for path, value in record.items()}
    return "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + "}"
