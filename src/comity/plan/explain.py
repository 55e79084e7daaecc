"""What a plan does, as data: for each source what it is asked for, what is done here, in which order, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from comity.connect.registry import is_read_by_spark
from comity.connect.specs import SinkSpec, SourceSpec
from comity.contract.mapping import Mapping
from comity.errors import Misuse
from comity.expression.render import render
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE, TRUE, Expression, Literal
from comity.language.ask import Part
from comity.language.reasons import Reason
from comity.pattern.explain import Node, node_id, operand_id, quoted
from comity.plan.asks import LanguageOf, SourceAsk, asks, language_of
from comity.plan.explain_pattern import ExplainedPattern, explained_patterns
from comity.plan.matching import Matching, choose_matching
from comity.plan.stages import Delivery, Plan, Route, operand_of, profile_of

__all__ = ["Explanation", "Node", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan, or one profile's part of it, ready to be shown as a tree, as JSON or as a graph."""

    plan: Plan
    routes: tuple[Route, ...]
    asks: tuple[SourceAsk, ...]
    sinks: tuple[SinkSpec, ...] = ()
    idle: tuple[SourceSpec, ...] = ()
    """Sources of whose events nobody wants any."""
    patterns: tuple[ExplainedPattern, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The explanation for programs."""
        return {
            "federation": self.plan.federation,
            "matching": {name: _matching_dict(one) for name, one in _matching(self.plan).items()},
            "sources": [_source_dict(ask, self.sinks) for ask in self.asks],
            "idle": [f"{source.domain}.{source.name}" for source in self.idle],
            "patterns": [one.as_dict(self._receivers(one)) for one in self.patterns],
        }

    def as_tree(self) -> Node:
        """The explanation for people: nested lines, the stages of each source in their order."""
        below = [_source_node(ask, self.sinks) for ask in self.asks]
        idle: list[Node] = [(f"nobody wants events from {one.domain}.{one.name} ({one.kind})", []) for one in self.idle]
        patterns = [one.node(self._receivers(one)) for one in self.patterns]
        return f"federation {self.plan.federation}", [_matching_node(self.plan), *patterns, *below, *idle]

    def as_mermaid(self) -> str:
        """The explanation as a Mermaid flow chart."""
        lines = [line for ask in self.asks for line in _edges(ask, self.sinks)]
        lines += [line for one in self.patterns for line in one.edges(self._receivers(one))]
        return "\n".join(["flowchart LR", *dict.fromkeys(lines)])

    def _receivers(self, pattern: ExplainedPattern) -> list[str]:
        return list(_receivers(pattern.planned.subscriber, self.sinks))


def explain(
    plan: Plan,
    profile: str | None = None,
    *,
    sources: Iterable[SourceSpec] = (),
    sinks: Iterable[SinkSpec] = (),
    language_of: LanguageOf = language_of,
) -> Explanation:
    """The explanation of a plan, or of what one profile needs of it.

    What a source is asked for is on behalf of all profiles, also where one of them is looked at.
    """
    given = tuple(sources)
    found = asks(plan, given, language_of=language_of)
    if profile is None:
        asked = [ask.source for ask in found]
        idle = tuple(source for source in given if source not in asked)
        return Explanation(plan, plan.routes, found, tuple(sinks), idle, explained_patterns(plan, found))
    if profile not in plan.profiles:
        hint = f"known: {', '.join(plan.profiles) or 'none'}"
        raise Misuse(f"no route leads to a profile {profile!r}", code="unknown-profile", hint=hint)
    routes = tuple(only_for(route, profile) for route in plan.routes if _serves(route, profile))
    narrowed = tuple(ask for ask in (_only_part(ask, profile) for ask in found) if ask.routes)
    return Explanation(plan, routes, narrowed, tuple(sinks), (), explained_patterns(plan, narrowed, profile))


def only_for(route: Route, profile: str) -> Route:
    """The route with the deliveries of one profile: of a composite one, those of its operands."""
    return replace(route, deliveries=tuple(one for one in route.deliveries if profile_of(one.profile) == profile))


def _serves(route: Route, profile: str) -> bool:
    return any(profile_of(delivery.profile) == profile for delivery in route.deliveries)


def _only_part(ask: SourceAsk, profile: str) -> SourceAsk:
    routes = tuple(
        (only_for(route, profile), tuple(part for part in parts if profile_of(part.want.profile) == profile))
        for route, parts in ask.routes
        if _serves(route, profile)
    )
    return replace(ask, routes=routes)


def _matching(plan: Plan) -> dict[str, Matching]:
    """How profiles are matched, by what comes in."""
    return {"lines": choose_matching(plan, of_lines=True), "tables": choose_matching(plan, of_lines=False)}


def _matching_dict(matching: Matching) -> dict[str, Any]:
    return {"how": str(matching.how), "profiles": matching.profiles, "reason": matching.reason}


# JSON


def _source_dict(ask: SourceAsk, sinks: Sequence[SinkSpec]) -> dict[str, Any]:
    return {
        "source": ask.name,
        "kind": ask.kind,
        "type": ask.type.qualified_name,
        "language": ask.language.name,
        "read_by_spark": _is_read_by_spark(ask),
        "asked": {
            "native": ask.ask.text,
            "expression": render(ask.ask.native),
            "attributes": None if ask.attributes is None else list(ask.attributes),
            "reasons": [one.as_dict() for one in ask.ask.reasons],
        },
        "routes": [_route_dict(route, parts, sinks) for route, parts in ask.routes],
    }


def _route_dict(route: Route, parts: Sequence[Part], sinks: Sequence[SinkSpec]) -> dict[str, Any]:
    return {
        "contract": route.contract,
        "mediate": _mapping_dict(route.mediate),
        "rejected": _rejected_by(route.incomplete),
        "meets_as": route.meeting_type.qualified_name,
        "deduplicate": DEDUPLICATE,
        "deliveries": [
            _delivery_dict(delivery, part, sinks) for delivery, part in zip(route.deliveries, parts, strict=True)
        ],
    }


def _delivery_dict(delivery: Delivery, part: Part, sinks: Sequence[SinkSpec]) -> dict[str, Any]:
    return {
        "profile": delivery.profile,
        "subscriber": delivery.subscriber,
        "filter": render(delivery.condition),
        "on_the_source": render(delivery.wanted),
        "residual": render(part.residual),
        "reasons": [one.as_dict() for one in part.reasons],
        "observe": _mapping_dict(delivery.observe),
        "rejected": _rejected_by(_incomplete(delivery.observe)),
        "operand": operand_of(delivery.profile),
        "deliver": list(_goes_to(delivery, sinks)),
    }


def _mapping_dict(mapping: Mapping | None) -> dict[str, str] | None:
    return None if mapping is None else {".".join(path): render(made_from) for path, made_from in mapping.expressions}


def _incomplete(mapping: Mapping | None) -> Expression:
    """Over the source of a mapping: for which events it cannot be applied."""
    return FALSE if mapping is None else simplify(mapping.incomplete(), mapping.source)


def _rejected_by(incomplete: Expression) -> str | None:
    return None if incomplete == FALSE else render(incomplete)


def _goes_to(delivery: Delivery, sinks: Sequence[SinkSpec]) -> Iterator[str]:
    """Who gets the events of a delivery; those of an operand go to its pattern."""
    if operand_of(delivery.profile) is not None:
        yield f"the pattern of {profile_of(delivery.profile)}"
    else:
        yield from _receivers(delivery.subscriber, sinks)


def _receivers(subscriber: str, sinks: Sequence[SinkSpec]) -> Iterator[str]:
    yield f"results/{subscriber}"
    yield from (f"{sink.name} ({sink.kind})" for sink in sinks if sink.domain == subscriber)


# Tree

DEDUPLICATE = "an event reaches a profile once, by its source and id"
"""What the stage does, wherever it stands in the plan of a runner."""


def _matching_node(plan: Plan) -> Node:
    lines: list[Node] = [(f"{form} by {one.how}: {one.reason}", []) for form, one in _matching(plan).items()]
    return f"{len(plan.profiles)} profiles are matched on Spark", lines


def _source_node(ask: SourceAsk, sinks: Sequence[SinkSpec]) -> Node:
    read: list[Node] = [(_BY_SPARK, [])] if _is_read_by_spark(ask) else []
    below: list[Node] = [
        *read,
        (f"asked for {ask.ask.text}{_only_with(ask)}{_codes(ask.ask.reasons)}", list(_blamed(ask.ask.reasons))),
        (f"wrap as {ask.type.qualified_name}; what does not fit is rejected, what is late is counted", []),
    ]
    for route, parts in ask.routes:
        below += _route_nodes(route, parts, sinks)
    what = f"{ask.name} ({ask.kind}, filters: {ask.language.name})"
    return f"events of {ask.type.qualified_name} from {what}", below


_BY_SPARK = "read by Spark's executors, all parts at once, of which Spark takes the columns that are looked at"


def _is_read_by_spark(ask: SourceAsk) -> bool:
    return ask.source is not None and is_read_by_spark(ask.source.kind)


def _only_with(ask: SourceAsk) -> str:
    """Which attributes a source that filters may stop at."""
    if ask.attributes is None or ask.language.capability.is_nothing:
        return ""
    return f", with {', '.join(ask.attributes)}" if ask.attributes else ", without attributes"


_MOST_BLAMED = 10


def _blamed(reasons: Sequence[Reason]) -> Iterator[Node]:
    """The first clauses or profiles because of which the source is asked for more than is wanted."""
    named = [one for one in reasons if one.clause]
    yield from ((str(one), []) for one in named[:_MOST_BLAMED])
    if len(named) > _MOST_BLAMED:
        yield f"and {len(named) - _MOST_BLAMED} more", []


def _codes(reasons: Iterable[Reason]) -> str:
    codes = dict.fromkeys(one.code for one in reasons)
    return f" [{', '.join(codes)}]" if codes else ""


def _route_nodes(route: Route, parts: Sequence[Part], sinks: Sequence[SinkSpec]) -> Iterator[Node]:
    if route.mediate is not None:
        title = f"mediate to {route.meeting_type.qualified_name} by contract {route.contract}"
        yield title, _mapping_nodes(route.mediate, route.incomplete)
    yield f"deduplicate: {DEDUPLICATE}", []
    for delivery, part in zip(route.deliveries, parts, strict=True):
        yield _delivery_node(delivery, part, sinks)


def _delivery_node(delivery: Delivery, part: Part, sinks: Sequence[SinkSpec]) -> Node:
    inner: list[Node] = [(f"match: {render(delivery.condition)}", list(_match_nodes(delivery, part)))]
    if delivery.observe is not None:
        lines = _mapping_nodes(delivery.observe, _incomplete(delivery.observe))
        inner.append((f"observe as {delivery.observe.target.qualified_name}", lines))
    operand = operand_of(delivery.profile)
    inner.append((f"{'deliver' if operand is None else 'give'} to {', '.join(_goes_to(delivery, sinks))}", []))
    of = f"profile {profile_of(delivery.profile)}"
    return f"{of if operand is None else f'operand {operand} of {of}'}, for {delivery.subscriber}", inner


def _match_nodes(delivery: Delivery, part: Part) -> Iterator[Node]:
    if isinstance(delivery.wanted, Literal):
        yield f"holds for {'every' if delivery.wanted == TRUE else 'no'} event of this source", []
        return
    if delivery.wanted != delivery.condition:
        yield f"in the source's terms: {render(delivery.wanted)}", []
    left = "nothing" if part.residual == TRUE else render(part.residual)
    if part.residual != delivery.wanted:
        yield f"left to filter here: {left}", []
    for one in part.reasons:
        yield str(one), [(one.explanation, [])]


def _mapping_nodes(mapping: Mapping, incomplete: Expression) -> list[Node]:
    lines: list[Node] = [(f"{'.'.join(path)} = {render(made)}", []) for path, made in mapping.expressions]
    rejected = _rejected_by(incomplete)
    return lines + ([(f"rejected, for something mandatory is missing: {rejected}", [])] if rejected else [])


# Mermaid


def _edges(ask: SourceAsk, sinks: Sequence[SinkSpec]) -> Iterator[str]:
    source, local = node_id(f"source_{ask.name}"), ask.type.qualified_name
    name = f"{ask.name}<br/>{ask.kind}"
    yield f'  {source}[("{name}")] -- "{quoted("asked for " + ask.ask.text)}" --> {node_id(local)}["{local}"]'
    yield f'  {node_id(local)} -. "does not fit" .-> rejected[("rejected")]'
    for route, parts in ask.routes:
        yield from _route_edges(route, parts, sinks)


def _route_edges(route: Route, parts: Sequence[Part], sinks: Sequence[SinkSpec]) -> Iterator[str]:
    source, meeting = route.source.qualified_name, route.meeting_type.qualified_name
    if route.mediate is not None:
        yield f'  {node_id(source)} -- "mediate: {route.contract}" --> {node_id(meeting)}(["{meeting}"])'
        if route.incomplete != FALSE:
            yield f'  {node_id(source)} -. "{quoted(render(route.incomplete))}" .-> rejected[("rejected")]'
    for delivery in route.deliveries:
        yield from _delivery_edges(delivery, meeting, sinks)


def _delivery_edges(delivery: Delivery, meeting: str, sinks: Sequence[SinkSpec]) -> Iterator[str]:
    condition, operand = quoted(render(delivery.condition)), operand_of(delivery.profile)
    if operand is not None:
        yield f'  {node_id(meeting)} -- "{condition}" --> {operand_id(profile_of(delivery.profile), operand)}'
        return
    profile = node_id(f"profile_{delivery.profile}")
    yield f'  {node_id(meeting)} -- "{condition}" --> {profile}{{"{delivery.profile}"}}'
    seen = delivery.observe.target.qualified_name if delivery.observe else meeting
    for receiver in _receivers(delivery.subscriber, sinks):
        yield f'  {profile} -- "as {seen}" --> {node_id("to_" + receiver)}[["{receiver}"]]'
