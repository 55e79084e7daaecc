"""Sample events through a mapping and back: what came back otherwise, and what was rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from comity.contract.collide import frozen
from comity.contract.invert import Inversion, Recovered
from comity.contract.mapping import Mapping, Path
from comity.contract.shape import leaves
from comity.event.event import Event
from comity.event.kinds import Kind, Point, Value, kind_of
from comity.event.validate import Fault
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.tree import FALSE, Expression


@dataclass(frozen=True, slots=True)
class RoundTripDifference:
    """A value that did not come back as it was."""

    event: Event
    path: Path
    before: Value | None
    after: Value | None
    reason: str
    breaks_a_claim: bool = False
    """Whether the mapping was said to be lossless for this event."""


@dataclass(slots=True)
class RoundTrip:
    """What became of events on the way there and back."""

    mapping: Mapping
    back: Mapping | None
    is_derived: bool
    """Whether the way back is the derived inverse, and not an observer's mapping."""
    events: int = 0
    refused: int = 0
    """Events that were rejected, there or on the way back."""
    rejected: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By path in the target and reason."""
    rejected_back: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The same on the way back."""
    unexpected: int = 0
    """Events that were rejected there, or got no value for an attribute, against what was said."""
    rounded: int = 0
    """Events of which a number came back with an error within the bounds that were stated."""
    differences: list[RoundTripDifference] = field(default_factory=list)

    @property
    def is_as_claimed(self) -> bool:
        return not self.unexpected and not any(one.breaks_a_claim for one in self.differences)


def round_trip(
    mapping: Mapping,
    events: Iterable[Event],
    inversion: Inversion,
    observer: Mapping | None = None,
    *,
    accepted: Expression = FALSE,
    present: Collection[tuple[Path, Expression]] = (),
) -> RoundTrip:
    """Send events through a mapping and back: through the derived inverse, or else through an observer's mapping.

    `accepted` is the condition under which events are said not to be rejected, `present` that under which attributes of
    the target are said to have a value.

    >>> from comity.contract.invert import invert
    >>> from comity.event.types import AttributeType, EventType
    >>> from comity.expression.parse import parse
    >>> a, b = (EventType(name, "test", own={"n": AttributeType(Kind.INT)}) for name in "AB")
    >>> there = Mapping(a, b, ((("n",), parse("n * 2")),))
    >>> found = round_trip(there, [Event("1", "/a", "test.A", data={"n": n}) for n in (5, 2**62)], invert(there))
    >>> found.events, dict(found.rejected), found.differences
    (2, {('n', 'the mapping gives no value for this attribute'): 1}, [])
    """
    found = RoundTrip(mapping, inversion.mapping or observer, inversion.mapping is not None)
    for event in events:
        found.events += 1
        mapped = mapping.apply(event)
        if isinstance(mapped, list):
            found.refused += 1
            found.rejected.update(_reasons(mapped))
            found.unexpected += holds(accepted, event)
            continue
        found.unexpected += any(mapped.get(path) is None and holds(when, event) for path, when in present)
        if found.back is not None:
            _come_back(found, inversion, event, found.back.apply(mapped))
    return found


def _reasons(faults: list[Fault]) -> list[tuple[str, str]]:
    return [(fault.path, fault.reason) for fault in faults]


def _come_back(found: RoundTrip, inversion: Inversion, event: Event, back: Event | list[Fault]) -> None:
    if isinstance(back, list):
        found.refused += 1
        found.rejected_back.update(_reasons(back))
        back = event.replace(data={})
        if not (found.is_derived and holds(inversion.within, event)):
            return
    differences = list(_differences(found.mapping, inversion, event, back))
    found.rounded += found.is_derived and not differences and frozen(back.data) != frozen(event.data)
    found.differences += differences


def _differences(mapping: Mapping, inversion: Inversion, event: Event, back: Event) -> Iterator[RoundTripDifference]:
    claimed = inversion.mapping is not None and holds(inversion.within, event)
    paths = inversion.recovered if inversion.mapping is not None else _common(mapping, back)
    for path in paths:
        before, after = event.get(path), back.get(path)
        known = inversion.recovered.get(path)
        if _is_same(before, after, known):
            continue
        yield RoundTripDifference(event, path, before, after, _reason(inversion, path, claimed), claimed)


def _common(mapping: Mapping, back: Event) -> list[Path]:
    """The attributes of the source that the observer's type can have, too."""
    is_same_type = back.type == mapping.source.qualified_name
    return [path for path in leaves(mapping.source) if is_same_type or path[0] in back.data]


def _is_same(before: Value | None, after: Value | None, known: Recovered | None) -> bool:
    if frozen(before) == frozen(after):
        return True
    return known is not None and _is_close(before, after, known.relative, known.absolute)


def _is_close(before: Value | None, after: Value | None, relative: Fraction, absolute: Fraction) -> bool:
    """Whether a number came back within the stated bounds."""
    if isinstance(before, Point) and isinstance(after, Point):
        pairs = zip(before, after, strict=True)
        return all(_is_close(one, other, relative, absolute) for one, other in pairs)
    if kind_of(before) is not Kind.FLOAT or kind_of(after) is not Kind.FLOAT:
        return False
    exact = Fraction(before)  # type: ignore[arg-type]
    return abs(exact - Fraction(after)) <= relative * abs(exact) + absolute  # type: ignore[arg-type]


def _reason(inversion: Inversion, path: Path, claimed: bool) -> str:
    if claimed:
        return "the mapping was said to be lossless"
    if inversion.mapping is not None:
        return f"beyond what comes back: {render(inversion.within)}"
    known = inversion.obstacles.get(path) or inversion.obstacles.get(path[:1])
    return known[0].text if known else "the observer's mapping gives another value"
