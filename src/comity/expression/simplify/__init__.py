"""From a filter to an equal one that an index and a source can use: as much as possible is `attribute op constant`.

A profile that was translated through a contract is full of the mapping's expressions. Each rewrite here gives a filter
that holds for exactly the same events of the type, rounding and missing values included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter

from comity.event.types import EventType
from comity.expression.simplify.cut_separators import cut_separators
from comity.expression.simplify.enumerate_lookups import enumerate_lookups
from comity.expression.simplify.fold_constants import fold_atom, fold_constants, fold_value
from comity.expression.simplify.invert_arithmetic import invert_arithmetic
from comity.expression.simplify.invert_texts import invert_texts
from comity.expression.simplify.known import asked_attribute, is_bare, parts
from comity.expression.simplify.merge_members import merge_members
from comity.expression.simplify.merge_ranges import merge_ranges
from comity.expression.simplify.order_parts import all_of, order_parts
from comity.expression.simplify.push_into_conditionals import push_into_conditionals
from comity.expression.simplify.push_negations import push_negations
from comity.expression.simplify.ranges import range_of
from comity.expression.simplify.spell_cases import spell_cases
from comity.expression.simplify.split_concatenations import split_concatenations
from comity.expression.simplify.split_presence import split_presence
from comity.expression.tree import And, Exists, Expression, In
from comity.limits import limits

Rewrite = Callable[[Expression, EventType], Expression]

REWRITES: tuple[Rewrite, ...] = (
    fold_constants,
    push_into_conditionals,
    enumerate_lookups,
    split_presence,
    split_concatenations,
    cut_separators,
    spell_cases,
    invert_texts,
    invert_arithmetic,
    push_negations,
    merge_ranges,
    merge_members,
    order_parts,
)

_OF_WHAT_IS_MADE = frozenset(REWRITES[1:8])
"""Those that look at what is made of attributes, and leave atoms over bare attributes as they are."""

_MOST_ROUNDS = 20
_MOST_LEVELS = 150
"""Levels of a tree that is worked on; a rewrite takes several calls for each."""


def simplify(tree: Expression, type: EventType) -> Expression:
    """A filter that holds for the same events of the type, closer to attributes compared with constants.

    The tree is bound. Parts that would grow beyond `max_simplified_nodes` stay as they are.

    >>> from comity.event.kinds import Kind
    >>> from comity.event.types import AttributeType
    >>> from comity.expression.bind import bind_text
    >>> from comity.expression.render import render
    >>> from comity.expression.scope import Scope
    >>> house = EventType("House", "city", own={"heat": AttributeType(Kind.FLOAT, unit="degF")})
    >>> wanted = "value(heat, 'degC') between 30 and 60 or (if heat > 0 then 1 else 2) = 3"
    >>> render(simplify(bind_text(wanted, Scope(house)), house))
    'heat between 86 and 140'
    """
    if not _fits(tree):
        return tree
    if isinstance(tree, And):  # what is made of attributes alone, since most rewrites look at one atom at a time
        tree = all_of([item if is_bare(item) else simplify(item, type) for item in tree.items])
    known_bare = is_bare(tree)
    if not known_bare:  # arithmetic over one attribute is most of what mappings make, and done with at once
        inverted = invert_arithmetic(tree, type)
        tree, known_bare = (inverted, True) if is_bare(inverted) else (tree, False)
    if known_bare and is_settled(tree, type):
        return tree
    idle = 0  # rewrites in a row that left the tree as it is; when all have, it stays so
    for _ in range(_MOST_ROUNDS):
        before = tree
        for rewrite in REWRITES:
            after = tree if known_bare and rewrite in _OF_WHAT_IS_MADE else rewrite(tree, type)
            if after is not tree and after != tree and _fits(after):
                tree, idle, known_bare = after, 0, is_bare(after)
                if known_bare and is_settled(tree, type):
                    return tree
            else:
                idle += 1
            if idle == len(REWRITES):
                return tree
        if tree == before:  # one has undone what another did
            break
    return tree


def is_settled(tree: Expression, type: EventType) -> bool:
    """Whether no rewrite can change a filter over bare attributes: it asks one thing, or one range, of each."""
    atoms = tree.items if isinstance(tree, And) and len(tree.items) > 1 else (tree,)
    asked = [asked_attribute(atom) for atom in atoms]
    if None in asked or not all(_is_settled_atom(atom, type) for atom in atoms):
        return False
    together = [[atom for _, atom in same] for _, same in groupby(zip(asked, atoms, strict=True), itemgetter(0))]
    return len(together) == len(set(asked)) and all(len(some) == 1 or _is_one_range(some, type) for some in together)


def _is_settled_atom(atom: Expression, type: EventType) -> bool:
    """Whether an atom over a bare attribute stays as it is."""
    # Of these, and no others, folding makes something else.
    is_folded = not isinstance(atom, Exists | In) or fold_atom(atom, type) == atom
    return is_folded and invert_arithmetic(atom, type) == atom


def _is_one_range(atoms: Sequence[Expression], type: EventType) -> bool:
    """Whether atoms about one attribute are the way in which a range is said."""
    said = And(tuple(atoms))
    return all(range_of(atom, type) for atom in atoms) and merge_ranges(said, type) == said


def simplify_value(tree: Expression, type: EventType) -> Expression:
    """A value expression with its constant parts computed.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> render(simplify_value(parse("lower('A') + room"), EventType("House", "city")))
    "'a' + room"
    """
    return fold_value(tree, type) if _fits(tree) else tree


def _fits(tree: Expression) -> bool:
    """Whether the tree has no more nodes and levels than a rewrite can take."""
    left = limits().max_simplified_nodes
    level: list[Expression] = [tree]
    for _ in range(_MOST_LEVELS):
        left -= len(level)
        level = [part for node in level for part in parts(node)]
        if not level or left < 0:
            break
    return left >= 0 and not level
