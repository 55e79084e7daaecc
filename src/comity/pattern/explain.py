"""Composite profiles explained, without sources: as lines for people, as data for programs, as a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from comity.event.types import EVENT
from comity.expression.render import render, render_path
from comity.expression.tree import TRUE
from comity.pattern.bound import BoundPattern
from comity.pattern.facts import GENERAL_REASONS, Kept, conditions, kept, key_texts, why_general, why_one_trace
from comity.pattern.parameters import Consume
from comity.pattern.text.durations import render_duration
from comity.pattern.text.render import render_pattern
from comity.pattern.tree import (
    Absent,
    Both,
    Either,
    Operand,
    Pattern,
    Selection,
    Silence,
    Together,
    bound_operands,
)
from comity.pattern.tree import Sequence as SequencePattern

Node = tuple[str, list["Node"]]
"""A line of text, and what belongs below it."""


def tree_lines(node: Node, lead: str = "", below: str = "") -> Iterator[str]:
    """Nested lines with the branches of a tree in front.

    >>> list(tree_lines(("house", [("attic", []), ("hall", [("door", [])])])))
    ['house', '├─ attic', '└─ hall', '   └─ door']
    """
    text, inner = node
    yield lead + text
    for number, part in enumerate(inner, start=1):
        last = number == len(inner)
        yield from tree_lines(part, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


@dataclass(frozen=True, slots=True)
class PatternExplanation:
    """A composite profile, and the others that are detected together with it."""

    bound: BoundPattern
    same: tuple[str, ...] = ()
    """Profiles with the same body."""

    @property
    def is_bounded(self) -> bool:
        return all(one.is_bounded for one in kept(self.bound))

    def operand_text(self, operand: Operand) -> str:
        """An operand as the tree shows it."""
        asked = self.bound.asked(operand.name)
        where = "" if asked == TRUE else f" where {render(asked)}"
        return f"{operand.name}: {operand.type or EVENT.name}{where}"

    def nodes(self) -> list[Node]:
        """Everything about the profile, for people."""
        return [
            _tree_node(self, self.bound.pattern),
            _trace_node(self.bound),
            *_condition_nodes(self.bound),
            _choice_node(self.bound),
            _state_node(self),
            _detection_node(self),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything about the profile, for programs."""
        bound, parameters = self.bound, self.bound.parameters
        reasons = why_general(bound)
        return {
            "profile": bound.name,
            "version": parameters.version,
            "on": render_pattern(bound.pattern),
            "tree": _tree_dict(self, bound.pattern),
            "operands": [_operand_dict(self, one) for one in kept(bound) if not one.is_silence],
            "key": list(key_texts(bound)) or None,
            "one_trace_because": why_one_trace(bound),
            "conditions": [
                {"condition": one.condition, "how": one.how, "part": one.part, "tested": one.where()}
                for one in conditions(bound)
            ],
            "choice": {name: str(parameters.of(name)) for name in bound.choice_order},
            "consume": str(parameters.consume),
            "limit": parameters.limit,
            "ties": render_path(parameters.ties) if parameters.ties else None,
            "bounded": self.is_bounded,
            "detection": {
                "how": "general" if reasons else "compiled",
                "reasons": [{"code": code, "explanation": GENERAL_REASONS[code]} for code in reasons],
                "shared_with": list(self.same),
            },
        }


def explain_patterns(patterns: Iterable[BoundPattern]) -> tuple[PatternExplanation, ...]:
    """The explanation of each; what is detected once for several of them is told with all of them.

    >>> from comity.pattern.bound import bind_pattern
    >>> found = explain_patterns([bind_pattern(name, Operand("h", "Heat")) for name in ("p", "q")])
    >>> found[0].same, found[0].as_dict()["detection"]["how"]
    (('q',), 'compiled')
    """
    given = tuple(patterns)
    by_body: dict[str, list[str]] = {}
    for one in given:
        by_body.setdefault(one.body, []).append(one.name)
    return tuple(
        PatternExplanation(one, tuple(name for name in by_body[one.body] if name != one.name)) for one in given
    )


# The tree of the pattern


def _tree_node(explained: PatternExplanation, pattern: Pattern | Absent) -> Node:
    if isinstance(pattern, Absent):
        return "not", [_tree_node(explained, pattern.pattern)]
    if isinstance(pattern, Operand):
        return explained.operand_text(pattern), []
    return _operator_text(pattern), [_tree_node(explained, part) for part in _steps(pattern)]


def _tree_dict(explained: PatternExplanation, pattern: Pattern | Absent) -> dict[str, Any]:
    if isinstance(pattern, Absent):
        return {"operator": "not", "parts": [_tree_dict(explained, pattern.pattern)]}
    if isinstance(pattern, Operand):
        return {"operand": pattern.name, "type": pattern.type or EVENT.name}
    own: dict[str, Any] = {"operator": operator_of(pattern), "text": _operator_text(pattern)}
    match pattern:
        case SequencePattern(within=length) | Both(within=length) | Silence(within=length):
            own["within"] = None if length is None else render_duration(length)
        case Together(tolerance=length):
            own["tolerance"] = render_duration(length)
        case Selection(first=first, last=last):
            own["positions"] = "last" if pattern.is_last else [first, last]
    return {**own, "parts": [_tree_dict(explained, part) for part in _steps(pattern)]}


def _steps(pattern: Pattern) -> Sequence[Pattern | Absent]:
    match pattern:
        case SequencePattern(steps):
            return steps
        case Either(own) | Both(own) | Together(own):
            return own
        case Silence(inner):
            return (Absent(inner),)
        case Selection(inner):
            return (inner,)
        case Operand():
            return ()
    assert_never(pattern)


def operator_of(pattern: Pattern) -> str:
    """The symbol of a pattern's operator, as capabilities of languages name it.

    >>> operator_of(Both((Operand("a"), Operand("b"))))
    '&'
    """
    match pattern:
        case SequencePattern():
            return ";"
        case Both():
            return "&"
        case Either():
            return "|"
        case Together():
            return ":"
        case Silence():
            return "silence"
        case Selection():
            return "[]"
        case Operand():
            return ""
    assert_never(pattern)


def _operator_text(pattern: Pattern) -> str:
    match pattern:
        case SequencePattern():
            return f"; one after the other{_sequence_frame(pattern)}"
        case Both(within=within):
            return f"& all of them in any order{_within(within)}"
        case Either():
            return "| each of them"
        case Together(tolerance=tolerance):
            return (
                f": all of them at the same time{f', give or take {render_duration(tolerance)}' if tolerance else ''}"
            )
        case Silence(within=within):
            return f"silence of {render_duration(within)}"
        case Selection(first=first, last=last):
            return f"[] {_positions(first, last)}"
        case Operand():
            return ""
    assert_never(pattern)


def _sequence_frame(pattern: SequencePattern) -> str:
    if pattern.gaps[-1]:
        length = "ever" if pattern.within is None else render_duration(pattern.within)
        return f", the absence at the end lasts {length}"
    if pattern.gaps[0]:
        length = "to the beginning" if pattern.within is None else render_duration(pattern.within)
        return f", looking back {length} from the end{_within(pattern.within)}"
    return _within(pattern.within)


def _within(length: int | None) -> str:
    return ", without a time frame" if length is None else f", within {render_duration(length)}"


def _positions(first: int | None, last: int | None) -> str:
    if first is None:
        return "the last one"
    if first == last:
        return "the first one" if first == 1 else f"the one at position {first}"
    return f"those at positions {first} to {last}"


# What follows from it


def _trace_node(bound: BoundPattern) -> Node:
    keys: list[Node] = [(text, []) for text in key_texts(bound)]
    return (f"one trace, because {why_one_trace(bound)}", []) if not keys else ("one trace for each key", keys)


def _condition_nodes(bound: BoundPattern) -> Iterator[Node]:
    lines: list[Node] = [(f"{one.condition}: {one.where()}", []) for one in conditions(bound) if one.how != "key"]
    if lines:
        yield "conditions between operands", lines


def _choice_node(bound: BoundPattern) -> Node:
    parameters = bound.parameters
    lines: list[Node] = [(f"{name}: {parameters.of(name)} of its duplicates", []) for name in bound.choice_order]
    if parameters.ties is not None:
        lines.append((f"events of one time are ordered by {render_path(parameters.ties)}", []))
    lines.append((_CONSUMED[parameters.consume], []))
    return "choice and consumption", lines


_CONSUMED = {
    Consume.KEEP: "consume keep: a report removes nothing",
    Consume.DELETE: "consume delete: a report removes all events up to its end",
    Consume.REAPPLY: "consume reapply: a report removes its events, and the rest is looked at again",
}


def _state_node(explained: PatternExplanation) -> Node:
    bound = explained.bound
    unit = "for each key" if bound.key else "for the profile"
    lines: list[Node] = [(f"{one.name}: {one.text()}", []) for one in kept(bound)]
    refused = "" if explained.is_bounded else ", without bound: a stream refuses it"
    return f"state, {unit}{refused}", lines


def _detection_node(explained: PatternExplanation) -> Node:
    reasons = why_general(explained.bound)
    how = "by the general detector" if reasons else "by compiled code"
    lines: list[Node] = [(f"{GENERAL_REASONS[code]} [{code}]", []) for code in reasons]
    if explained.same:
        lines.append((f"once for this profile and {', '.join(explained.same)}, which have the same body", []))
    return f"detected {how}", lines


def _operand_dict(explained: PatternExplanation, one: Kept) -> dict[str, Any]:
    bound = explained.bound
    chooses = {operand.name for operand in bound_operands(bound.pattern)}
    return {
        "operand": one.name,
        "filter": render(bound.asked(one.name)),
        "in_not": one.name not in chooses,
        "kept_us": one.length_us,
        "kept": one.text(),
    }


# Mermaid


def pattern_edges(explained: PatternExplanation) -> Iterator[str]:
    """The pattern as lines of a Mermaid flow chart: from the operands to the profile."""
    name = explained.bound.name
    yield from _edges_to(node_id(f"profile_{name}"), f'{{"{quoted(name)}"}}', name, explained, explained.bound.pattern)


def _edges_to(
    above: str, shape: str, path: str, explained: PatternExplanation, pattern: Pattern | Absent, label: str = ""
) -> Iterator[str]:
    arrow = f'-- "{label}" -->' if label else "-->"
    inner = pattern.pattern if isinstance(pattern, Absent) else pattern
    if isinstance(pattern, Absent):
        yield from _edges_to(above, shape, path, explained, inner, "not")
        return
    if isinstance(inner, Operand):
        own = operand_id(explained.bound.name, inner.name)
        yield f'  {own}["{quoted(explained.operand_text(inner))}"] {arrow} {above}{shape}'
        return
    own, own_shape = node_id(f"part_{path}"), f'(["{quoted(_operator_text(inner))}"])'
    yield f"  {own}{own_shape} {arrow} {above}{shape}"
    for number, part in enumerate(_steps(inner)):
        yield from _edges_to(own, own_shape, f"{path}_{number}", explained, part)


def operand_id(profile: str, operand: str) -> str:
    """The node of an operand in a flow chart."""
    return node_id(f"operand_{profile}_{operand}")


def node_id(name: str) -> str:
    """A name for a node in a flow chart."""
    return "".join(char if char.isalnum() else "_" for char in name)


def quoted(text: str) -> str:
    """A text for a flow chart.

    >>> quoted('a "b"')
    'a #quot;b#quot;'
    """
    return text.replace('"', "#quot;")
