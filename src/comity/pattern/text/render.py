"""From a pattern to its text, which parses back to the same tree."""

from __future__ import annotations

from comity.event.types import EVENT
from comity.expression.render import render, render_path
from comity.expression.tree import TRUE
from comity.pattern.composite import Composite
from comity.pattern.parameters import ALL, Consume, Parameters
from comity.pattern.text.durations import render_duration
from comity.pattern.text.words import is_name, render_type
from comity.pattern.tree import (
    Absent,
    Both,
    Either,
    Operand,
    Pattern,
    Selection,
    Sequence,
    Silence,
    Together,
)

# How tightly a node binds; a part that binds less tightly than its place demands gets parentheses. What has a frame is
# a group of its own.
_GROUP, _EITHER, _SEQUENCE, _BOTH, _TOGETHER, _SELECTION, _PRIMARY = range(7)


def render_pattern(pattern: Pattern) -> str:
    """The text of a pattern, with no more parentheses than it needs.

    >>> render_pattern(Both((Operand("h", "Heat"), Sequence((Operand("a", "A"), Operand("b", "B")), 5_000_000))))
    'Heat h & (A a ; B b within 5 s)'
    """
    return _render(pattern)[0]


def render_composite(name: str, composite: Composite) -> str:
    """The text of a profile, a clause in each line; what is not said otherwise is left out.

    >>> print(render_composite("hot", Composite(Operand("h", "Heat"), parameters=Parameters(limit=5))))
    profile hot
    on Heat h
    limit 5
    """
    clauses = composite_clauses(composite)
    lines = (f"{word}{' by' if word == 'ties' else ''} {text}" for word, text in clauses.items())
    return "\n".join([f"profile {name}", *lines])


def composite_clauses(composite: Composite) -> dict[str, str]:
    """What a profile says by the words of its clauses, as in a YAML file; what is not said otherwise is left out.

    >>> composite_clauses(Composite(Operand("h", "Heat"), parameters=Parameters(ties=("event", "sequence"))))
    {'on': 'Heat h', 'ties': 'event.sequence'}
    """
    found = {"on": render_pattern(composite.pattern)}
    if composite.where.tree != TRUE:
        found["where"] = render(composite.where.tree)
    return found | parameter_clauses(composite.parameters)


def parameter_clauses(parameters: Parameters) -> dict[str, str]:
    """The same for the parameters alone."""
    found = {}
    own = [f"{_name(name)} {mode}" for name, mode in sorted(parameters.own_duplicates.items())]
    modes = [str(parameters.duplicates)] if parameters.duplicates != ALL else []
    if modes or own:
        found["duplicates"] = ", ".join(modes + own)
    if parameters.consume is not Consume.KEEP:
        found["consume"] = str(parameters.consume)
    if parameters.limit is not None:
        found["limit"] = str(parameters.limit)
    if parameters.ties is not None:
        found["ties"] = render_path(parameters.ties)
    if parameters.version != 1:
        found["version"] = str(parameters.version)
    return found


def _at(pattern: Pattern | Absent, level: int) -> str:
    """The text of a part, in parentheses if it binds less tightly than `level`."""
    if isinstance(pattern, Absent):
        return f"not {_at(pattern.pattern, _SELECTION)}"
    text, own = _render(pattern)
    return text if own >= level else f"({text})"


def _render(pattern: Pattern) -> tuple[str, int]:
    match pattern:
        case Operand(name, type):
            return _operand(name, type or EVENT.name), _PRIMARY
        case Either(parts):
            return " | ".join(_at(part, _SEQUENCE) for part in parts), _EITHER
        case Sequence(steps, within):
            return _framed(" ; ".join(_at(step, _BOTH) for step in steps), within, _SEQUENCE)
        case Both(parts, within):
            return _framed(" & ".join(_at(part, _TOGETHER) for part in parts), within, _BOTH)
        case Together(parts, tolerance):
            text = " : ".join(_at(part, _SELECTION) for part in parts)
            return f"{text} tolerance {render_duration(tolerance)}" if tolerance else text, _TOGETHER
        case Silence(inner, within):
            return _framed(f"not {_at(inner, _SELECTION)}", within, _GROUP)
        case Selection(inner, first, last):
            return _selection(_at(inner, _PRIMARY), first, last), _SELECTION


def _operand(name: str, type: str) -> str:
    is_default = name == type.rpartition(".")[2] and is_name(name)
    return render_type(type) if is_default else f"{render_type(type)} {_name(name)}"


def _name(operand: str) -> str:
    return operand if is_name(operand) else f"`{operand}`"


def _framed(text: str, within: int | None, level: int) -> tuple[str, int]:
    return (text, level) if within is None else (f"{text} within {render_duration(within)}", _GROUP)


def _selection(text: str, first: int | None, last: int | None) -> str:
    if first == last and first in (1, None):
        return f"{'last' if first is None else 'first'} {text}"
    return f"{text}[{first}]" if first == last else f"{text}[{first}..{last}]"
