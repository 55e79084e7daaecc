"""A test of a table's value becomes a test of the key: the keys whose value passes."""

from __future__ import annotations

from functools import lru_cache

from comity.event.kinds import Kind, Value
from comity.event.types import EventType
from comity.expression.kinds import kind_given
from comity.expression.simplify.fold_constants import fold_atom
from comity.expression.simplify.known import each_atom, is_constant, outlives_missing, parts, size
from comity.expression.simplify.order_parts import all_of, any_of
from comity.expression.tree import (
    FALSE,
    TRUE,
    Compare,
    Expression,
    In,
    Literal,
    Lookup,
    is_truth,
    rebuild,
)
from comity.limits import limits

_EXACT_KINDS = frozenset({Kind.STRING, Kind.INT, Kind.BOOL})


def enumerate_lookups(node: Expression, type: EventType) -> Expression:
    """The filter with the keys that pass in place of lookups.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.tree import Attribute
    >>> house = EventType("House", "city", own={"code": AttributeType(Kind.STRING)})
    >>> level = Lookup("levels", Attribute(("code",)), (("low", 1), ("high", 3)))
    >>> enumerate_lookups(Compare(">", level, Literal(2)), house).right
    Literal(value='high')
    """
    most = limits().max_simplified_nodes
    return each_atom(node, lambda atom: _enumerated(atom, type, most))


@lru_cache(maxsize=8192)
def _enumerated(atom: Expression, type: EventType, most: int) -> Expression:
    found = _first_lookup(atom)
    if found is None or len(found.rows) > most or not _keys_are_distinct(found, type):
        return atom
    groups: dict[Expression, list[Value]] = {}
    for key, value in found.rows:
        groups.setdefault(Literal(value), []).append(key)
    if len(groups) * size(atom) + len(found.rows) > most:
        return atom
    tests = [(keys, fold_atom(_replaced(atom, found, value), type)) for value, keys in groups.items()]
    by_test: dict[Expression, list[Value]] = {}
    for keys, test in tests:
        by_test.setdefault(test, []).extend(keys)
    by_test.pop(FALSE, None)
    return any_of([_one_of(found, keys, test) for test, keys in by_test.items()])


def _one_of(lookup: Lookup, keys: list[Value], test: Expression) -> Expression:
    chosen = set(map(Literal, keys))
    items = tuple(Literal(key) for key, _ in lookup.rows if Literal(key) in chosen)
    member = Compare("=", lookup.key, items[0]) if len(items) == 1 else In(lookup.key, items)
    return member if test == TRUE else all_of([member, test])


def _keys_are_distinct(lookup: Lookup, type: EventType) -> bool:
    """Whether no event can hit two rows: the first would hide the second."""
    kinds = lookup.pairs.key_kinds
    key_kind = kind_given(lookup.key, type)
    return bool(kinds) and key_kind in _EXACT_KINDS and kinds == {key_kind}


def _first_lookup(node: Expression) -> Lookup | None:
    if isinstance(node, Lookup) and not is_constant(node):
        return node
    if outlives_missing(node):
        return None  # under these a missing value does not make the atom false
    values = (part for part in parts(node) if isinstance(part, Literal) or not is_truth(part))
    return next((found for part in values if (found := _first_lookup(part)) is not None), None)


def _replaced(node: Expression, old: Expression, new: Expression) -> Expression:
    return new if node == old else rebuild(node, lambda part: _replaced(part, old, new))
