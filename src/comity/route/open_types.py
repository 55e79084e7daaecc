"""What events look like that have no declared type, as far as filters look at them: learned from events that came.

The scanner needs types. Here each type of event that is seen gets one that has the attributes that filters use, of the
kinds that its events had. An event that has another kind is doubtful to the scanner, is decoded, and is learned from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from comity.event.event import Event
from comity.event.kinds import Kind, Value
from comity.event.scan.lanes import LaneScanner
from comity.event.scan.scanner import LineScanner
from comity.event.types import ENVELOPE_NAME, AttributeType, EventType
from comity.expression.tree import And, Expression, attributes
from comity.limits import limits
from comity.route.route_filter import RouteFilter

Path = tuple[str, ...]

_PATIENCE = 32
"""Events of another kind than the known one after which that one counts."""
_KINDS: dict[type, Kind] = {bool: Kind.BOOL, int: Kind.FLOAT, float: Kind.FLOAT, str: Kind.STRING}
_DOUBTED = Kind.BYTES
"""Of attributes that hold lists or structs, of which no column tells enough: the scanner doubts such events."""


@dataclass(slots=True)
class _Seen:
    """The kinds of the attributes in events of one type."""

    kinds: dict[Path, Kind] = field(default_factory=dict)
    others: Counter[Path] = field(default_factory=Counter)
    """How often an attribute had another kind since it has this one."""

    def see(self, path: Path, kind: Kind) -> bool:
        """Take note of a kind; whether this changes anything."""
        known = self.kinds.get(path)
        if known is kind:
            return False
        self.others[path] += 1
        if known is not None and self.others[path] < _PATIENCE:
            return False
        self.kinds[path] = kind
        del self.others[path]
        return True


class OpenTypes:
    """The attributes that filters use, and the kinds that they have in events."""

    def __init__(self) -> None:
        self._uses: Counter[Path] = Counter()
        self._envelope: frozenset[str] = frozenset()
        """What filters use of the envelope, or used once."""
        self._seen: dict[str, _Seen] = {}
        self._scanner: LaneScanner | None = None

    def use(self, filters: Iterable[RouteFilter]) -> None:
        """These filters are matched, too."""
        for filter in filters:
            for path in _paths(filter):
                if path[0] == ENVELOPE_NAME:
                    self._use_of_envelope(path[-1])
                    continue
                self._uses[path] += 1
                if self._uses[path] == 1:
                    self._scanner = None

    def _use_of_envelope(self, name: str) -> None:
        if name not in self._envelope:
            self._envelope, self._scanner = self._envelope | {name}, None

    def release(self, filter: RouteFilter) -> None:
        """This filter is matched no more; an attribute that none uses stays until the types are made anew."""
        for path in _paths(filter):
            if path[0] == ENVELOPE_NAME:
                continue
            self._uses[path] -= 1
            if not self._uses[path]:
                del self._uses[path]

    def learn(self, event: Event) -> None:
        """Take note of what an event is like."""
        seen = self._seen.get(event.type)
        if seen is None:
            if len(self._seen) >= limits().max_learned_types:
                return
            seen, self._scanner = self._seen.setdefault(event.type, _Seen()), None
        for path in self._uses:
            value = event.get(path)
            if value is not None and seen.see(path, self._kind(path, value)):
                self._scanner = None

    def scanner(self) -> LaneScanner:
        """A scanner for events of the types that were seen."""
        if self._scanner is None:
            types = [EventType(name, "", own=self._attributes(seen)) for name, seen in self._seen.items()]
            lines = LineScanner(types, require_time=False, simple_names=False, envelope=self._envelope)
            self._scanner = LaneScanner(lines)
        return self._scanner

    def _kind(self, path: Path, value: Value) -> Kind:
        if isinstance(value, dict) and any(other[: len(path)] == path != other for other in self._uses):
            return Kind.STRUCT
        return _KINDS.get(type(value), _DOUBTED)

    def _attributes(self, seen: _Seen, inside: Path = ()) -> dict[str, AttributeType]:
        depth = len(inside)
        names = dict.fromkeys(path[depth] for path in self._uses if len(path) > depth and path[:depth] == inside)
        return {name: self._attribute(seen, (*inside, name)) for name in names}

    def _attribute(self, seen: _Seen, path: Path) -> AttributeType:
        parts = self._attributes(seen, path)
        kind = seen.kinds.get(path, Kind.STRUCT if parts else Kind.STRING)
        if kind is Kind.STRUCT and parts:
            return AttributeType(kind, optional=True, attributes=parts)
        return AttributeType(kind, optional=True)


def _paths(filter: RouteFilter) -> frozenset[Path]:
    conditions = filter.tree.items if isinstance(filter.tree, And) else (filter.tree,)
    return frozenset[Path]().union(*map(_paths_in, conditions))


@lru_cache(maxsize=1 << 14)
def _paths_in(condition: Expression) -> frozenset[Path]:
    return attributes(condition)
