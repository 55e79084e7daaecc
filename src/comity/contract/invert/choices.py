"""Back through choices: conditionals, tables, and what is made of a truth value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from comity.contract.invert.found import Finding, InversionFacts, Obstacle, Peel, Recovered, unknown
from comity.contract.mapping import Path
from comity.contract.shape import conditions
from comity.event.kinds import Kind, Value
from comity.event.types import EventType
from comity.expression.evaluate import compare, evaluate
from comity.expression.kinds import kind_given
from comity.expression.render import render, render_value
from comity.expression.simplify.chains import chain_of
from comity.expression.simplify.ranges import Spans, common, range_of, without
from comity.expression.tree import (
    MISSING,
    TRUE,
    Between,
    Compare,
    Conditional,
    Expression,
    Literal,
    Lookup,
    attributes,
    conjunction,
    disjunction,
    is_impure,
    walk,
)

_EXACT_KEYS = frozenset({Kind.STRING, Kind.INT, Kind.BOOL})


def peel_lookup(node: Lookup, value: Expression, known: InversionFacts, peel: Peel) -> Iterator[Finding]:
    """The key, where no two keys have one value."""
    rows = node.pairs
    key_kind = kind_given(node.key, known.source)
    if key_kind not in _EXACT_KEYS or rows.key_kinds != {key_kind} or kind_given(node, known.source) is None:
        yield unknown(node, f"the keys of table {node.table!r} are not of the kind that is looked up")
        return
    same = rows.collision
    if same is not None:
        text = f"table {node.table!r} gives the same for {render_value(same[0])} and {render_value(same[1])}"
        yield Obstacle(attributes(node), "not-injective", text)
        return
    back = Lookup(f"{node.table}_inverse", value, rows.inverse)
    yield from peel(node.key, back, known)


class _One:
    """A record with one attribute."""

    def __init__(self, path: Path, value: Value | None) -> None:
        self._path, self._value = path, value

    def get(self, path: Path) -> Value | None:
        return self._value if path == self._path else None


def truth_read(node: Expression, source: EventType) -> Path | None:
    """The only attribute that an expression reads, if that is a truth value."""
    paths = list(attributes(node))
    declared = source.attribute_at(paths[0]) if len(paths) == 1 else None
    is_truth = declared is not None and declared.kind is Kind.BOOL and not any(map(is_impure, walk(node)))
    return paths[0] if is_truth else None


def peel_truth(node: Expression, value: Expression, known: InversionFacts, path: Path) -> Iterator[Finding]:
    """The truth value that an expression was made of, by trying both."""
    made = {truth: evaluate(node, _One(path, truth)) for truth in (True, False, None)}
    rows = [(made[truth], truth) for truth in (True, False) if made[truth] is not None]
    if len(rows) == 2 and compare("=", rows[0][0], rows[1][0]):
        yield Obstacle(frozenset({path}), "not-injective", f"`{render(node)}` is the same for true and false")
    elif made[None] is not None and conditions(known.source, path):
        yield Obstacle(frozenset({path}), "not-injective", f"`{render(node)}` has a value without {'.'.join(path)}")
    else:
        yield Recovered(path, Lookup("truth", value, tuple(rows)))


def peel_conditional(node: Conditional, value: Expression, known: InversionFacts, peel: Peel) -> Iterator[Finding]:
    """What a choice tells, where the target tells which way was chosen."""
    if MISSING in (node.then, node.otherwise):  # a value tells that the other way was chosen
        branch = node.otherwise if node.then == MISSING else node.then
        yield from peel(branch, value, known)
    elif known.has(node.condition):
        yield from _chosen(node, known.over_target(node.condition), value, known, peel)
    else:
        yield from _told_apart(node, value, known, peel)


def _chosen(
    node: Conditional, condition: Expression, value: Expression, known: InversionFacts, peel: Peel
) -> Iterator[Finding]:
    """What both ways tell, each in its case."""
    ways = [_by_path(peel(branch, value, known)) for branch in (node.then, node.otherwise)]
    for path in sorted(attributes(node.then) | attributes(node.otherwise)):
        one, other = (way.get(path) for way in ways)
        if isinstance(one, Recovered) and isinstance(other, Recovered):
            yield _joined(one, other, condition)
        else:
            text = f"`{render(node)}` tells it in some cases only"
            blocked = next((way for way in (one, other) if isinstance(way, Obstacle)), None)
            yield blocked or Obstacle(frozenset({path}), "conditional", text)


def _by_path(found: Iterator[Finding]) -> dict[Path, Finding]:
    by_path: dict[Path, Finding] = {}
    for one in found:
        for path in {one.path} if isinstance(one, Recovered) else one.paths:
            if not isinstance(by_path.get(path), Recovered):
                by_path[path] = one
    return by_path


def _joined(one: Recovered, other: Recovered, condition: Expression) -> Recovered:
    return replace(
        one,
        expression=Conditional(condition, one.expression, other.expression),
        relative=max(one.relative, other.relative),
        absolute=max(one.absolute, other.absolute),
        within=conjunction([test for test in (one.within, other.within) if test != TRUE]),
        declared=tuple(dict.fromkeys(one.declared + other.declared)),
    )


def _told_apart(node: Conditional, value: Expression, known: InversionFacts, peel: Peel) -> Iterator[Finding]:
    """Of one attribute: the ways are told apart when what they give lies in different ranges."""
    images = _images(node, known.source)
    if images is None:
        text = f"the target does not tell which way `{render(node)}` went"
        yield Obstacle(attributes(node), "conditional", text)
        return
    condition = disjunction([Between(value, Literal(low), Literal(high)) for low, high in images])
    yield from _chosen(node, condition, value, known, peel)


Image = tuple[Value, Value]


def _images(node: Conditional, source: EventType) -> list[Image] | None:
    """What the first way gives, as ranges that the second way never reaches."""
    paths = attributes(node)
    tested = range_of(node.condition, source)
    if len(paths) != 1 or tested is None or tested.attribute.path not in paths:
        return None
    whole: Spans = ((tested.domain.first, tested.domain.last),)
    chosen = _image(node.then, tested.spans, source)
    others = _image(node.otherwise, without(whole, tested.spans), source)
    if chosen is None or others is None or not chosen:
        return None
    apart = all(high < other_low or other_high < low for low, high in chosen for other_low, other_high in others)
    return chosen if apart else None


def _image(branch: Expression, spans: Spans, source: EventType) -> list[Image] | None:
    """The smallest and largest value of a chain on each span of its attribute."""
    chain = chain_of(branch, source)
    defined = range_of(Compare("=", branch, branch), source)
    if chain is None or defined is None or isinstance(branch, Literal):
        return None
    found: list[Image] = []
    for first, last in common(spans, defined.spans):
        ends = sorted((chain.at(first)[1], chain.at(last)[1]))
        found.append((ends[0], ends[1]))
    return found
