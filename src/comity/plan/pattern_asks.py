"""Which patterns, or parts of them, a source could detect itself, so that it sends occurrences in place of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass

from comity.contract.mapping import Mapping
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE, TRUE, Attribute
from comity.language.language import Language
from comity.language.reasons import MEANINGS, Reason
from comity.pattern.bound import BoundPattern
from comity.pattern.explain import operator_of
from comity.pattern.facts import joins_of
from comity.pattern.parameters import ALL, Consume
from comity.pattern.text.render import render_pattern
from comity.pattern.tree import Absent, Operand, Pattern, operands, parts, walk
from comity.pattern.tree import Sequence as SequencePattern
from comity.plan.asks import SourceAsk
from comity.plan.stages import Delivery, PlannedPattern, Route


@dataclass(frozen=True, slots=True)
class PatternAsk:
    """What one source could detect of a pattern: whole parts, and why nothing more."""

    source: str
    language: str
    operands: tuple[str, ...]
    """Those that it serves."""
    parts: tuple[Pattern, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Served:
    """The events that a source gives for an operand on one way."""

    ask: SourceAsk
    route: Route
    delivery: Delivery

    @property
    def is_exact(self) -> bool:
        """Whether the language can say exactly what is wanted."""
        return self.ask.language.split(self.delivery.wanted, type=self.ask.type).residual == TRUE


_BySource = AbstractMapping[str, dict[str, list[_Served]]]
"""By source and operand, the ways on which the one serves the other."""


Serving = AbstractMapping[str, Sequence[tuple[SourceAsk, Route, Delivery]]]
"""By the name of a delivery, the sources that serve it, and their ways."""


def serving(asks: Iterable[SourceAsk]) -> Serving:
    """What serves what, of all sources."""
    found: dict[str, list[tuple[SourceAsk, Route, Delivery]]] = {}
    for ask in asks:
        for route, delivery in ask.deliveries():
            found.setdefault(delivery.profile, []).append((ask, route, delivery))
    return found


def pattern_asks(planned: PlannedPattern, serving: Serving) -> tuple[PatternAsk, ...]:
    """For each source that serves some operand, what it could detect, given what its language can say."""
    languages: dict[str, Language] = {}
    served: dict[str, dict[str, list[_Served]]] = {}
    for name in planned.bound.operand_names:
        for ask, route, delivery in serving.get(planned.delivery(name), ()):
            if delivery.wanted != FALSE:
                languages[ask.name] = ask.language
                own = served.setdefault(ask.name, {}).setdefault(name, [])
                own.append(_Served(ask, route, delivery))
    return tuple(_ask(planned.bound, source, languages[source], served) for source in served)


def _ask(bound: BoundPattern, source: str, language: Language, served: _BySource) -> PatternAsk:
    mine = served[source]
    if not language.capability.patterns:
        return PatternAsk(source, language.name, tuple(mine), (), (Reason("no-patterns", ""),))
    others = frozenset(name for other, own in served.items() if other != source for name in own)
    found, reasons = _Judge(bound, language, mine, others).descend(bound.pattern)
    return PatternAsk(source, language.name, tuple(mine), tuple(found), tuple(dict.fromkeys(reasons)))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Looks for the largest parts of a pattern that one source can detect."""

    bound: BoundPattern
    language: Language
    mine: dict[str, list[_Served]]
    others: frozenset[str]

    def descend(self, pattern: Pattern) -> tuple[list[Pattern], list[Reason]]:
        if isinstance(pattern, Operand):
            return [], []
        objections = list(self._objections(pattern))
        if not objections:
            return [pattern], []
        below = [self.descend(part) for part in parts(pattern)]
        return [one for found, _ in below for one in found], objections + [one for _, own in below for one in own]

    def _objections(self, pattern: Pattern) -> Iterator[Reason]:
        names = {operand.name for operand in operands(pattern)}
        elsewhere = sorted(name for name in names if name in self.others or name not in self.mine)
        if elsewhere:
            yield Reason("operands-elsewhere", ", ".join(elsewhere))
        if pattern != self.bound.pattern and self.bound.parameters.consume is not Consume.KEEP:
            yield Reason("part-of-a-consumer", render_pattern(pattern))
        missing = sorted(set(self._needs(pattern, names)) - self.language.capability.patterns)
        yield from (Reason("pattern-not-supported", one) for one in missing)
        for name in sorted(names & self.mine.keys()):
            yield from self._of_operand(name)

    def _needs(self, pattern: Pattern, names: set[str]) -> Iterator[str]:
        """What the language must have for a pattern, out of `PATTERNS`."""
        own, parameters = self.bound, self.bound.parameters
        for part in walk(pattern):
            yield from [operator_of(part)] if not isinstance(part, Operand) else []
            if isinstance(part, SequencePattern) and any(isinstance(step, Absent) for step in part.steps):
                yield "not"
        yield from ["key"] if own.key else []
        yield from ["where"] if any(join.operands <= names for join in joins_of(own)) else []
        yield from ["limit"] if parameters.limit is not None else []
        yield from ["ties"] if parameters.ties is not None else []
        if pattern == own.pattern:  # of a part all occurrences are wanted: the choice is made among those of the whole
            yield from ["duplicates"] if any(parameters.of(name) != ALL for name in own.choice_order) else []
            yield from ["consume"] if parameters.consume is not Consume.KEEP else []

    def _of_operand(self, name: str) -> Iterator[Reason]:
        for served in self.mine[name]:
            if not served.is_exact:
                yield Reason("operand-left-to-filter", name)
            yield from self._of_mappings(name, served)

    def _of_mappings(self, name: str, served: _Served) -> Iterator[Reason]:
        """Values that the pattern compares must be attributes of the source, and no event may be refused on its way."""
        observe = served.delivery.observe
        if served.route.incomplete != FALSE or (observe and simplify(observe.incomplete(), observe.source) != FALSE):
            yield Reason("over-mapping", name, f"{MEANINGS['over-mapping']} Some events are refused on the way.")
        mappings = (observe, served.route.mediate)
        computed = sorted(".".join(path) for path in self.bound.needed(name) if not _is_plain(path, mappings))
        if computed:
            yield Reason("over-mapping", ", ".join(f"{name}.{path}" for path in computed))


def _is_plain(path: tuple[str, ...], mappings: Iterable[Mapping | None]) -> bool:
    """Whether the value is that of an attribute of the source, whatever mappings made it, the last one first."""
    for mapping in mappings:
        if mapping is None or path[0] == "event":
            continue
        made = dict(mapping.expressions).get(path)
        if not isinstance(made, Attribute):
            return False
        path = made.path
    return True
