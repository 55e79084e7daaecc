"""The types that a filter is about, by which it finds its trees."""

from __future__ import annotations

from comity.errors import Misuse
from comity.filter.index.shape import Fit
from comity.limits import limits
from comity.route.filters import FilterPool
from comity.route.route_filter import RouteFilter

_TYPE = ("event", "type")
MOST_NAME = 1_000
"""Characters of the name of a type, on the wire, too."""


def types_of(filter: RouteFilter, pool: FilterPool) -> tuple[str, ...]:
    """The types of all events that may pass the filter; raises `Misuse` unless it names them.

    >>> pool = FilterPool()
    >>> types_of(pool.read("event.type = 'house.Fire' and heat > 40"), pool)
    ('house.Fire',)
    >>> types_of(pool.read("event.type in ('a', 'b') and event.type != 'b' or event.type = 'c' and n > 1"), pool)
    ('a', 'c')
    """
    shape = pool.shape(filter)
    if shape.fit is Fit.EMPTY:
        return ()
    known = shape.box.get(_TYPE)
    most = limits().max_filter_types
    found = None if known is None or known.missing else known.strings.members(most)
    if found is None:
        hint = f"add which events it is about, as in event.type = 'house.Fire', with {most} types at the most"
        raise Misuse(f"this names no types of events: {filter.text[:200]}", code="no-event-type", hint=hint)
    if any(len(name) > MOST_NAME for name in found):
        raise Misuse(
            "the name of a type is too long", code="filter-too-long", hint=f"{MOST_NAME} characters are allowed"
        )
    return tuple(name for name in found if name)  # no event has a type without a name
