"""The composite profiles of a plan explained: their patterns, what serves operands, and what a source could detect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from comity.expression.tree import FALSE
from comity.pattern.explain import Node, PatternExplanation, explain_patterns, node_id, pattern_edges, quoted
from comity.pattern.text.render import render_pattern
from comity.plan.asks import SourceAsk
from comity.plan.pattern_asks import PatternAsk, Serving, pattern_asks, serving
from comity.plan.stages import Plan, PlannedPattern


@dataclass(frozen=True, slots=True)
class Served:
    """Events of one type from one source, on one way, for an operand."""

    source: str
    type: str
    contract: str | None
    is_possible: bool
    """Whether the operand can want any of them."""

    def text(self) -> str:
        """For people."""
        by = f" by contract {self.contract}" if self.contract else ""
        none = "" if self.is_possible else ", but it wants none of them"
        return f"{self.type} from {self.source}{by}{none}"


@dataclass(frozen=True, slots=True)
class ExplainedPattern:
    """A composite profile of a plan."""

    planned: PlannedPattern
    explanation: PatternExplanation
    served: dict[str, tuple[Served, ...]]
    """By operand."""
    asks: tuple[PatternAsk, ...]

    @property
    def name(self) -> str:
        return self.planned.bound.name

    def node(self, receivers: Sequence[str]) -> Node:
        """The profile for people."""
        served: Node = ("operands", [_operand_node(name, own) for name, own in self.served.items()])
        pushed: Node = ("could be detected by sources", [_ask_node(one) for one in self.asks])
        tree, *rest = self.explanation.nodes()
        deliver: Node = (f"deliver to {', '.join(receivers)}", [])
        title = f"composite profile {self.name}, for {self.planned.subscriber}"
        return title, [tree, served, *rest, *([pushed] if self.asks else []), deliver]

    def as_dict(self, receivers: Sequence[str]) -> dict[str, Any]:
        """The profile for programs."""
        found = self.explanation.as_dict()
        for operand in found["operands"]:
            operand["delivery"] = self.planned.delivery(operand["operand"])
            operand["served_by"] = [
                {"source": one.source, "type": one.type, "contract": one.contract, "possible": one.is_possible}
                for one in self.served[operand["operand"]]
            ]
        sources = [_ask_dict(one) for one in self.asks]
        return {**found, "subscriber": self.planned.subscriber, "sources": sources, "deliver": list(receivers)}

    def edges(self, receivers: Sequence[str]) -> Iterator[str]:
        """The profile as lines of a Mermaid flow chart, from its operands to who gets its reports."""
        yield from pattern_edges(self.explanation)
        for receiver in receivers:
            profile = node_id(f"profile_{self.name}")
            yield f'  {profile} -- "as comity.Report" --> {node_id("to_" + receiver)}[["{quoted(receiver)}"]]'


def explained_patterns(
    plan: Plan, asks: Sequence[SourceAsk], profile: str | None = None
) -> tuple[ExplainedPattern, ...]:
    """The composite profiles of a plan, or the one of a name."""
    explained = explain_patterns(planned.bound for planned in plan.patterns)
    by_delivery = serving(asks)
    return tuple(
        ExplainedPattern(planned, own, _served(planned, by_delivery), pattern_asks(planned, by_delivery))
        for planned, own in zip(plan.patterns, explained, strict=True)
        if profile in (None, planned.bound.name)
    )


def _served(planned: PlannedPattern, serving: Serving) -> dict[str, tuple[Served, ...]]:
    return {
        name: tuple(
            Served(ask.name, ask.type.qualified_name, route.contract, delivery.wanted != FALSE)
            for ask, route, delivery in serving.get(planned.delivery(name), ())
        )
        for name in planned.bound.operand_names
    }


def _operand_node(name: str, served: tuple[Served, ...]) -> Node:
    if not served:
        return f"{name}: no source has such events", []
    return name, [(one.text(), []) for one in served]


def _ask_node(ask: PatternAsk) -> Node:
    found = "; ".join(map(render_pattern, ask.parts)) or "nothing"
    codes = dict.fromkeys(one.code for one in ask.reasons)
    told = f" [{', '.join(codes)}]" if codes else ""
    lines: list[Node] = [
        (str(one), [(one.explanation, [])]) if one.clause else (one.explanation, []) for one in ask.reasons
    ]
    return f"{ask.source} ({ask.language}): {found}{told}", lines


def _ask_dict(ask: PatternAsk) -> dict[str, Any]:
    return {
        "source": ask.source,
        "language": ask.language,
        "operands": list(ask.operands),
        "detects": [render_pattern(part) for part in ask.parts],
        "reasons": [one.as_dict() for one in ask.reasons],
    }
