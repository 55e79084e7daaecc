"""Several demands on one ordered attribute become one: `x > 1 and x > 2` is `x > 2`."""

from __future__ import annotations

from comity.event.types import EventType
from comity.expression.simplify.known import JUNCTIONS
from comity.expression.simplify.order_parts import all_of, any_of
from comity.expression.simplify.ranges import AttributeRange, Spans, common, range_of, say, union, without
from comity.expression.tree import And, Attribute, Expression, Literal, Not


def merge_ranges(node: Expression, type: EventType) -> Expression:
    """The filter with at most one range for an attribute in each And and Or.

    >>> from comity.event.kinds import Kind
    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"floor": AttributeType(Kind.INT)})
    >>> render(merge_ranges(parse("floor < 5 or floor between 4 and 9"), house))
    'floor <= 9'
    """
    if not isinstance(node, JUNCTIONS):
        return node
    items = [merge_ranges(item, type) for item in node.items]
    ranges = [_range(item, type) for item in items]
    by_attribute: dict[Attribute, list[int]] = {}
    for place, found in enumerate(ranges):
        if found is not None:
            by_attribute.setdefault(found.attribute, []).append(place)
    for places in by_attribute.values():
        _merge(isinstance(node, And), items, ranges, places, type)
    join = all_of if isinstance(node, And) else any_of
    return join(items)


def _range(node: Expression, type: EventType) -> AttributeRange | None:
    """The range that a filter on one attribute is, also when it is made of several atoms."""
    if isinstance(node, Literal | Not):
        return None
    if not isinstance(node, JUNCTIONS):
        return range_of(node, type)
    parts: list[AttributeRange] = []
    for item in node.items:
        part = _range(item, type)
        if part is None or (parts and part.attribute != parts[0].attribute):
            return None
        parts.append(part)
    combined = _combined(isinstance(node, And), [part.spans for part in parts])
    return AttributeRange(parts[0].attribute, parts[0].domain, combined)


def _combined(conjoined: bool, all_spans: list[Spans]) -> Spans:
    if not conjoined:
        return union([span for spans in all_spans for span in spans])
    first, *rest = all_spans
    for spans in rest:
        first = common(first, spans)
    return first


def _merge(
    conjoined: bool, items: list[Expression], ranges: list[AttributeRange | None], places: list[int], type: EventType
) -> None:
    """Put the merged range in the place of the first one; what it took in becomes neutral."""
    members = [found for place in places if (found := ranges[place]) is not None]
    denied = _denied(items, members[0], type) if conjoined else {}
    if len(places) + len(denied) < 2:
        return
    spans = _combined(conjoined, [found.spans for found in members])
    for taken in denied.values():
        spans = without(spans, taken)
    same = [items[place] for place, found in zip(places, members, strict=True) if found.spans == spans]
    merged = same[0] if same else say(AttributeRange(members[0].attribute, members[0].domain, spans), type)
    for place in (*places, *denied):
        items[place] = Literal(conjoined)
    items[places[0]] = merged


def _denied(items: list[Expression], member: AttributeRange, type: EventType) -> dict[int, Spans]:
    """The ranges of the same attribute under a `not`; an atom beside them sees to it that the attribute is there."""
    found = {place: _range(item.item, type) for place, item in enumerate(items) if isinstance(item, Not)}
    return {place: one.spans for place, one in found.items() if one and one.attribute == member.attribute}
