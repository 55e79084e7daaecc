"""What a plan does, as data: for each way of an event, what is asked of the source, what is done here, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from comity.contract.mapping import Mapping
from comity.errors import Misuse
from comity.expression.render import render
from comity.limits import limits
from comity.plan.stages import Plan, Route

Node = tuple[str, list["Node"]]
"""A line of text, and what belongs below it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan, or one profile's part of it, ready to be shown as a tree, as JSON or as a graph."""

    plan: Plan
    routes: tuple[Route, ...]

    def as_dict(self) -> dict[str, Any]:
        """The explanation for programs."""
        return {
            "federation": self.plan.federation,
            "matching": _matching(self.plan),
            "routes": [_route_dict(route) for route in self.routes],
        }

    def as_tree(self) -> Node:
        """The explanation for people: nested lines."""
        return f"federation {self.plan.federation}", [_route_node(route) for route in self.routes]

    def as_mermaid(self) -> str:
        """The explanation as a Mermaid flow chart."""
        return "\n".join(["flowchart LR", *dict.fromkeys(line for route in self.routes for line in _edges(route))])


def explain(plan: Plan, profile: str | None = None) -> Explanation:
    """The explanation of a plan, or of what one profile needs of it."""
    if profile is None:
        return Explanation(plan, plan.routes)
    if profile not in plan.profiles:
        hint = f"known: {', '.join(plan.profiles) or 'none'}"
        raise Misuse(f"no route leads to a profile {profile!r}", code="unknown-profile", hint=hint)
    return Explanation(plan, tuple(only_for(route, profile) for route in plan.routes if _serves(route, profile)))


def only_for(route: Route, profile: str) -> Route:
    """The route with the deliveries of one profile."""
    wanted = tuple(delivery for delivery in route.deliveries if delivery.profile == profile)
    return Route(route.source, route.contract, route.mediate, wanted)


def _serves(route: Route, profile: str) -> bool:
    return any(delivery.profile == profile for delivery in route.deliveries)


def _matching(plan: Plan) -> dict[str, Any]:
    """How profiles are matched, and why so."""
    count, bound = len(plan.profiles), limits().max_column_profiles
    how = "columns" if count <= bound else "workers"
    return {"how": how, "profiles": count, "reason": f"{count} profiles, columns up to {bound}"}


ASKED = {"native": "everything", "reason": "files-have-no-filter"}
"""Event files are read whole: they have no language to ask in."""


def _route_dict(route: Route) -> dict[str, Any]:
    return {
        "source": route.source.qualified_name,
        "asked_of_source": ASKED,
        "contract": route.contract,
        "mediate": _mapping_dict(route.mediate),
        "meets_as": route.meeting_type.qualified_name,
        "deliveries": [
            {
                "profile": delivery.profile,
                "subscriber": delivery.subscriber,
                "filter": render(delivery.condition),
                "observe": _mapping_dict(delivery.observe),
            }
            for delivery in route.deliveries
        ],
    }


def _mapping_dict(mapping: Mapping | None) -> dict[str, str] | None:
    return None if mapping is None else {".".join(path): render(made_from) for path, made_from in mapping.expressions}


def _route_node(route: Route) -> Node:
    below: list[Node] = [(f"source is asked for {ASKED['native']} [{ASKED['reason']}]", [])]
    if route.mediate is not None:
        lines = _mapping_nodes(route.mediate)
        below.append((f"mediate to {route.meeting_type.qualified_name} by contract {route.contract}", lines))
    for delivery in route.deliveries:
        inner: list[Node] = [(f"filter here: {render(delivery.condition)}", [])]
        if delivery.observe is not None:
            inner.append((f"observe as {delivery.observe.target.qualified_name}", _mapping_nodes(delivery.observe)))
        below.append((f"profile {delivery.profile}, delivered to {delivery.subscriber}", inner))
    return f"events of {route.source.qualified_name}", below


def _mapping_nodes(mapping: Mapping) -> list[Node]:
    return [(f"{'.'.join(path)} = {render(made_from)}", []) for path, made_from in mapping.expressions]


def _edges(route: Route) -> Iterator[str]:
    source, meeting = route.source.qualified_name, route.meeting_type.qualified_name
    if route.mediate is not None:
        yield f'  {_id(source)}["{source}"] -- mediate --> {_id(meeting)}(["{meeting}"])'
    for delivery in route.deliveries:
        profile = f"profile_{delivery.profile}"
        filtered = render(delivery.condition).replace('"', "#quot;")
        yield f'  {_id(meeting)} -- "{filtered}" --> {_id(profile)}{{"{delivery.profile}"}}'
        seen = delivery.observe.target.qualified_name if delivery.observe else meeting
        yield f'  {_id(profile)} -- "as {seen}" --> {_id("to_" + delivery.subscriber)}[["{delivery.subscriber}"]]'


def _id(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name)
