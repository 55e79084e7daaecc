"""Profiles as conjunctions: a filter becomes a disjunction of conjunctions, of regions and of tests without an index.

A region says where the rank of one channel must lie. An atom that is no region (a suffix, a regular expression, two
attributes compared, arithmetic) stays a *test*, an expression that is evaluated on the events that pass the regions; as
far as it can only hold when attributes are present, that is a region beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from comity.event.event import Event
from comity.event.types import AttributeType
from comity.expression.evaluate import holds
from comity.expression.tree import And, Expression, Literal, Not, Or, depends_on_event
from comity.limits import limits
from comity.match.channels import ANYTHING, Path
from comity.match.regions import Region, RegionReader, complement

_NO_EVENT = Event("", "", "")


class Conjunction(NamedTuple):
    """All regions and all tests must hold."""

    regions: tuple[Region, ...] = ()
    tests: tuple[Expression, ...] = ()


Conjunctions = list[Conjunction]
_ALWAYS: Conjunctions = [Conjunction()]
_NEVER: Conjunctions = []
_ANYTHING = (ANYTHING,)


class ConjunctionReader:
    """Turns bound filters into conjunctions; `regions` knows the channels and constants of all of them.

    >>> from comity.expression.bind import bind_text
    >>> from comity.expression.scope import Scope
    >>> reader = ConjunctionReader()
    >>> found = reader.read(bind_text("heat > 40 and (room = 'attic' or room ends with 'cellar')", Scope()))
    >>> [(len(one.regions), len(one.tests)) for one in found]
    [(2, 0), (2, 1)]
    """

    def __init__(self, declared: Mapping[Path, AttributeType] | None = None) -> None:
        self.regions = RegionReader(declared)
        self._most = limits().max_conjunctions

    def read(self, node: Expression, positive: bool = True) -> Conjunctions:
        """The filter, or, not `positive`, its complement; empty when it can never hold."""
        kind = type(node)  # patterns of classes would take most of the time
        if kind is And:
            return self._all(node.items, positive) if positive else self._any(node.items, positive)  # type: ignore[union-attr]
        if kind is Or:
            return self._any(node.items, positive) if positive else self._all(node.items, positive)  # type: ignore[union-attr]
        if isinstance(node, Not):
            return self.read(node.item, not positive)
        if isinstance(node, Literal):
            return _ALWAYS if (node.value is True) is positive else _NEVER
        return self._atom(node, positive)

    def _all(self, items: tuple[Expression, ...], positive: bool) -> Conjunctions:
        """Each way to satisfy all items; an item with too many ways is a test."""
        regions: list[Region] = []
        others: list[Expression] = []
        for item in items:
            region = self.regions.region(item)
            if region is None:
                others.append(item)
                continue
            channel, intervals = region if positive else (region[0], complement(region[1]))
            if not intervals:
                return _NEVER
            if intervals != _ANYTHING:
                regions.append((channel, intervals))
        result = [Conjunction(tuple(regions))] if regions else _ALWAYS
        return self._with_others(result, others, positive) if others else result

    def _with_others(self, result: Conjunctions, items: list[Expression], positive: bool) -> Conjunctions:
        """Each way to satisfy one of the result and all items."""
        found = [self.read(item, positive) for item in items]
        for item, ways in sorted(zip(items, found, strict=True), key=lambda pair: len(pair[1])):
            if len(ways) > 1 and len(result) * len(ways) > self._most:
                ways = [_tested(item, positive)]
            result = [_joined([one, other]) for one in result for other in ways]
        return result

    def _any(self, items: tuple[Expression, ...], positive: bool) -> Conjunctions:
        found = [one for item in items for one in self.read(item, positive)]
        if any(not one.regions and not one.tests for one in found):
            return _ALWAYS
        if len(found) <= self._most:
            return found
        return [_tested(Or(items) if positive else And(items), positive)]

    def _atom(self, node: Expression, positive: bool) -> Conjunctions:
        region = self.regions.region(node)
        if region is None:
            if not depends_on_event(node):
                return _ALWAYS if holds(node, _NO_EVENT) is positive else _NEVER
            needed = self.regions.needed(node) if positive else ()
            return [Conjunction(needed, (node if positive else Not(node),))]
        channel, intervals = region
        if not positive:
            intervals = complement(intervals)
        if intervals == _ANYTHING:
            return _ALWAYS
        return [Conjunction(((channel, intervals),))] if intervals else _NEVER


def _joined(parts: list[Conjunction]) -> Conjunction:
    if len(parts) == 1:
        return parts[0]
    regions = tuple([region for part in parts for region in part.regions])
    tests = [test for part in parts for test in part.tests]
    return Conjunction(regions, tuple(dict.fromkeys(tests)) if tests else ())


def _tested(node: Expression, positive: bool) -> Conjunction:
    return Conjunction((), (node if positive else Not(node),))
