"""Counterexamples: sample events that a mapping does not tell apart, and those for which it has no value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice

from comity.contract.mapping import Mapping, Path
from comity.contract.sample import changed, sample_events, sample_values, values_of
from comity.contract.shape import leaves, structs
from comity.event.event import Event
from comity.event.kinds import Kind, Value
from comity.event.types import ENVELOPE_NAME
from comity.expression.evaluate import evaluate
from comity.expression.tree import Expression, Literal, attributes, walk

Pair = tuple[Event, Event]
Data = dict[str, Value]

_MIXED = 200
"""Sample events, beside those that are made on purpose."""
_MOST = 4_000


def trial_events(mapping: Mapping) -> list[Event]:
    """Events of the source type that are likely to show what a mapping loses."""
    expressions = [made for _, made in mapping.expressions]
    samples = sample_events(mapping.source, _MOST, around=expressions)
    found = list(islice(samples, _MIXED))
    accepted = next((event for event in chain(found, samples) if isinstance(mapping.apply(event), Event)), found[0])
    more = _made_on_purpose(mapping, accepted.data, sample_values(expressions))
    return [*found, *(accepted.replace(data=data) for data in islice(more, _MOST))]


def _made_on_purpose(mapping: Mapping, data: Data, values: dict[Kind, list[Value]]) -> Iterator[Data]:
    """Data that differ from others in one attribute, or in two that have changed places, or lack something."""
    single = leaves(mapping.source)
    for path, declared in single.items():
        yield from (changed(data, path, value) for value in values_of(declared, values))
    for _, made_from in mapping.expressions:
        yield from _shifted_texts(data, made_from, [path for path in single if single[path].kind is Kind.STRING])
    for one, other in combinations(single, 2):
        if single[one].kind is single[other].kind:
            first, second, *_ = [*values_of(single[one], values), None, None]
            yield changed(changed(data, one, first), other, second)
            yield changed(changed(data, one, second), other, first)
    for absent in (path for path, declared in {**single, **structs(mapping.source)}.items() if declared.optional):
        for path, declared in single.items():
            some = values_of(declared, values)[:2] if path[: len(absent)] != absent else ()
            yield from (changed(changed(data, path, value), absent, None) for value in some)


def _shifted_texts(data: Data, made_from: Expression, texts: list[Path]) -> Iterator[Data]:
    """Two texts that are joined, with the border between them in two places."""
    marks = {node.value for node in walk(made_from) if isinstance(node, Literal) and isinstance(node.value, str)}
    read = [path for path in texts if path in attributes(made_from)]
    for one, other in [(a, b) for a in read for b in read if a != b]:
        for mark in ("", *sorted(marks)):
            for first, second in (("x", f"y{mark}z"), (f"x{mark}y", "z")):
                yield changed(changed(data, one, first), other, second)


def frozen(value: Value) -> object:
    """A value that can be a key, equal for equal values."""
    if isinstance(value, dict):
        return frozenset((name, frozen(inner)) for name, inner in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list) else value


class Trials:
    """What a mapping makes of sample events."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.events = trial_events(mapping)
        read = frozenset[Path]().union(*(attributes(made) for _, made in mapping.expressions))
        self._read = sorted(path for path in read if path[0] == ENVELOPE_NAME)
        self._mapped = [(event, mapping.apply(event)) for event in self.events]

    def rejected(self) -> Event | None:
        """An event that is not accepted."""
        return next((event for event, found in self._mapped if isinstance(found, list)), None)

    def without(self, made_from: Expression) -> Event | None:
        """An event for which an expression has no value."""
        return next((event for event in self.events if evaluate(made_from, event) is None), None)

    def not_told_apart(self, path: Path) -> Pair | None:
        """Two accepted events that differ in an attribute and become the same."""
        accepted = (
            (event, (frozen(found.data), self._envelope(event)))
            for event, found in self._mapped
            if isinstance(found, Event)
        )
        return _pair(accepted, frozenset({path}))

    def with_one_value(self, made_from: Expression) -> Pair | None:
        """Two events that differ in what an expression reads and give it the same value."""
        valued = ((event, evaluate(made_from, event)) for event in self.events)
        keyed = ((event, (frozen(value), self._envelope(event))) for event, value in valued if value is not None)
        return _pair(keyed, attributes(made_from))

    def _envelope(self, event: Event) -> object:
        """What the mapping reads of the envelope, which comes back in any case."""
        return tuple(event.get(path) for path in self._read)


def _pair(found: Iterable[tuple[Event, object]], paths: frozenset[Path]) -> Pair | None:
    first: dict[object, tuple[Event, object]] = {}
    own = sorted(path for path in paths if path[0] != ENVELOPE_NAME)
    for event, key in found:
        told = tuple(frozen(event.get(path)) for path in own)
        other, other_told = first.setdefault(key, (event, told))
        if told != other_told:
            return other, event
    return None
