"""What the sources of a plan are asked for, each in its own language, and what is left to do here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from comity.connect.port import FOR_EVERYTHING, Ask, TypeAsk
from comity.connect.registry import source_language
from comity.connect.specs import SourceSpec
from comity.event.types import ENVELOPE_NAME, EventType
from comity.expression.tree import Attribute, Expression, Literal, attributes, is_truth, walk
from comity.language.ask import JointAsk, Part, Want, asked_for_everything, asked_of_source
from comity.language.language import NONE, Language
from comity.language.reasons import MEANINGS, Reason
from comity.pattern.tree import Silence
from comity.pattern.tree import walk as walk_pattern
from comity.plan.stages import Delivery, Plan, Route

LanguageOf = Callable[[SourceSpec | None], Language]
"""The language of a source; of None, that of the event files that a run is given."""


@dataclass(frozen=True, slots=True)
class SourceAsk:
    """What one source is asked for of the events of one type."""

    source: SourceSpec | None
    """None for the event files that a run is given."""
    type: EventType
    language: Language
    ask: JointAsk
    routes: tuple[tuple[Route, tuple[Part, ...]], ...]
    """The ways that the events go on, each with what is left to do for its deliveries, in their order."""
    attributes: tuple[str, ...] | None = None
    """Those that somebody reads, and those without which an event is none of its type; None is all."""

    @property
    def name(self) -> str:
        """The source as people see it."""
        return "the event files of the run" if self.source is None else f"{self.source.domain}.{self.source.name}"

    def deliveries(self) -> Iterator[tuple[Route, Delivery]]:
        """Everything that the events are for, each with its way."""
        for route, _ in self.routes:
            yield from ((route, one) for one in route.deliveries)

    @property
    def kind(self) -> str:
        return "files" if self.source is None else self.source.kind


def language_of(source: SourceSpec | None) -> Language:
    """The language that the connector of a source understands."""
    return NONE if source is None else source_language(source)


def asked_of(source: SourceSpec, plan: Plan) -> Ask:
    """What a source is opened with when the plan runs, and changed to when the plan becomes another one."""
    asked_in = language_of(source)
    if asked_in.capability.is_nothing or needs_every_event(plan):
        return FOR_EVERYTHING
    found = [_ask(source, type, routes, asked_in) for type, routes in _by_type(plan, source.domain).items()]
    return Ask(tuple(_type_ask(one) for one in found if not one.ask.asks_for_nothing))


def _type_ask(found: SourceAsk) -> TypeAsk:
    native = None if found.ask.asks_for_everything else found.ask.text
    return TypeAsk(found.type.qualified_name, native, found.attributes)


def needs_every_event(plan: Plan) -> bool:
    """Whether a pattern goes by the first and the last event of all, whatever their types."""
    return any(isinstance(part, Silence) for one in plan.patterns for part in walk_pattern(one.bound.pattern))


def asks(
    plan: Plan, sources: Iterable[SourceSpec] = (), *, language_of: LanguageOf = language_of
) -> tuple[SourceAsk, ...]:
    """For every source and every type of its events that somebody wants: what it is asked for.

    A domain that names no sources has its events in the files that a run is given.
    """
    given, everything = tuple(sources), needs_every_event(plan)
    found: list[SourceAsk] = []
    for type, routes in _by_type(plan).items():
        own: list[SourceSpec | None] = [source for source in given if source.domain == type.namespace]
        found += [_ask(source, type, routes, language_of(source), everything) for source in own or [None]]
    return tuple(found)


def _by_type(plan: Plan, domain: str | None = None) -> dict[EventType, list[Route]]:
    routes: dict[str, list[Route]] = {}
    for route in plan.routes:
        if domain is None or route.source.namespace == domain:
            routes.setdefault(route.source.qualified_name, []).append(route)
    return {some[0].source: some for some in routes.values()}


def _ask(
    source: SourceSpec | None,
    type: EventType,
    routes: Sequence[Route],
    asked_in: Language,
    everything: bool = False,
) -> SourceAsk:
    deliveries = [(route, delivery) for route in routes for delivery in route.deliveries]
    wants = [Want(delivery.profile, delivery.wanted) for _, delivery in deliveries]
    if everything and not asked_in.capability.is_nothing:
        found = asked_for_everything(wants, Reason("silence-needs-every-event", ""))
    else:
        found = asked_of_source(wants, asked_in, type=type)
    parts = iter(_through_mapping(route, one, part) for (route, one), part in zip(deliveries, found.parts, strict=True))
    by_route = tuple((route, tuple(next(parts) for _ in route.deliveries)) for route in routes)
    return SourceAsk(source, type, asked_in, found, by_route, None if everything else _needed(type, routes))


def _needed(type: EventType, routes: Sequence[Route]) -> tuple[str, ...] | None:
    """Whoever sees an event of the type itself, and not what a contract makes of it, sees all of its attributes."""
    read: set[tuple[str, ...]] = set()
    for route in routes:
        if route.mediate is None:
            return None
        read.update(path for _, made in route.mediate.steps[0].expressions for path in attributes(made))
        read.update(path for delivery in route.deliveries for path in attributes(delivery.wanted))
    mandatory = {name for name, declared in type.attributes.items() if not declared.optional}
    return tuple(sorted(mandatory | {path[0] for path in read if path[0] != ENVELOPE_NAME}))


_COMPUTED = frozenset({"no-arithmetic", "function-not-supported", "attribute-against-attribute"})


def _through_mapping(route: Route, delivery: Delivery, part: Part) -> Part:
    """Where a profile compares plain attributes and the language lacks arithmetic all the same, it is the mapping's."""
    if route.mediate is None or _computes(delivery.condition):
        return part
    return replace(part, reasons=tuple(_blamed(part.reasons)))


def _blamed(reasons: tuple[Reason, ...]) -> Iterator[Reason]:
    for one in reasons:
        if one.code in _COMPUTED:
            yield Reason("over-mapping", one.clause, f"{MEANINGS['over-mapping']} {one.explanation}")
        else:
            yield one


def _computes(condition: Expression) -> bool:
    return any(not is_truth(node) and not isinstance(node, Attribute | Literal) for node in walk(condition))
