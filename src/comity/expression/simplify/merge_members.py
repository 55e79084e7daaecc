"""Texts and truths that an attribute may equal are put together: `x = 'a' or x = 'b'` is `x in ('a', 'b')`."""

from __future__ import annotations

from comity.event.kinds import Kind, kind_of
from comity.event.types import EventType
from comity.expression.evaluate import holds
from comity.expression.simplify.known import JUNCTIONS, NOTHING, parts
from comity.expression.simplify.order_parts import all_of, any_of
from comity.expression.tree import (
    FALSE,
    TRUE,
    And,
    Attribute,
    Compare,
    Exists,
    Expression,
    In,
    IsType,
    Literal,
    is_impure,
    rebuild,
)

_KINDS = frozenset({Kind.STRING, Kind.BOOL})


def merge_members(node: Expression, type: EventType) -> Expression:
    """The filter with at most one list of wanted texts for an attribute in each And and Or.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"room": AttributeType(Kind.STRING)})
    >>> render(merge_members(parse("room in ('hall', 'attic', 'bath') and room like '%a%' and room != 'bath'"), house))
    "room in ('hall', 'attic')"
    """
    if not isinstance(node, JUNCTIONS):
        return node
    items = [merge_members(item, type) for item in node.items]
    for attribute in dict.fromkeys(found for item in items if (found := _listed(item, type))):
        items = _merged(items, attribute, type, conjoined=isinstance(node, And))
    return all_of(items) if isinstance(node, And) else any_of(items)


def _listed(item: Expression, type: EventType) -> Attribute | None:
    """The attribute of which an atom lists the values, when these are texts or truths."""
    match item:
        case Compare("=", Attribute() as attribute, Literal(value)):
            values = [value]
        case In(Attribute() as attribute, literals, False):
            values = [literal.value if isinstance(literal, Literal) else None for literal in literals]
        case _:
            return None
    declared = type.attribute_at(attribute.path)
    kind = declared.kind if declared else None
    return attribute if kind in _KINDS and all(kind_of(value) is kind for value in values) else None


def _merged(items: list[Expression], attribute: Attribute, type: EventType, *, conjoined: bool) -> list[Expression]:
    lists = [place for place, item in enumerate(items) if _listed(item, type) == attribute]
    listing = set(lists)
    others = (place for place in range(len(items)) if place not in listing)
    tests = [place for place in others if _is_about(items[place], attribute)]
    members = dict.fromkeys(member for place in lists for member in _members(items[place]))
    kept = list(members)
    for place in lists if conjoined else ():
        wanted = set(_members(items[place]))
        kept = [member for member in kept if member in wanted]
    for place in tests:
        kept = [member for member in kept if _passes(items[place], attribute, member) is conjoined]
    dropped = {*lists, *tests} if conjoined else set(lists)
    if len(dropped) < 2 and len(kept) == len(members):
        return items
    rest = [item for place, item in enumerate(items) if place not in dropped or place == lists[0]]
    rest[rest.index(items[lists[0]])] = _one_of(attribute, kept)
    return rest


def _members(item: Expression) -> tuple[Expression, ...]:
    assert isinstance(item, Compare | In)
    return (item.right,) if isinstance(item, Compare) else item.items


def _one_of(attribute: Attribute, members: list[Expression]) -> Expression:
    if not members:
        return FALSE
    return Compare("=", attribute, members[0]) if len(members) == 1 else In(attribute, tuple(members))


def _is_about(item: Expression, attribute: Attribute) -> bool:
    """Whether the truth of a filter hangs on the value of the attribute alone."""
    if isinstance(item, Attribute):
        return item == attribute
    return not (isinstance(item, IsType) or is_impure(item)) and all(_is_about(part, attribute) for part in parts(item))


def _passes(item: Expression, attribute: Attribute, member: Expression) -> bool:
    return holds(_given(item, attribute, member), NOTHING)


def _given(item: Expression, attribute: Attribute, member: Expression) -> Expression:
    if isinstance(item, Exists):
        return TRUE if item.attribute == attribute else item
    return member if item == attribute else rebuild(item, lambda part: _given(part, attribute, member))
