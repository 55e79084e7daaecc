"""Texts that a mapping takes apart are put together again."""

from __future__ import annotations

from collections.abc import Iterator

from comity.contract.mapping import Path
from comity.expression.tree import Arithmetic, Attribute, Call, Expression, Literal

_PAIRS = (("before", "after"), ("before_last", "after_last"))

Solved = tuple[Expression, Expression, frozenset[Path]]
"""An expression over the source, its value over the target, and the attributes of the target in that."""


def joined(equations: list[tuple[Expression, Attribute]]) -> Iterator[Solved]:
    """The texts of which both parts are known: what stands before and after a separator, or up to a place and from it.

    >>> text, mark = Attribute(("text",)), Literal("/")
    >>> first, second = (Call(name, (text, mark)) for name in ("before", "after"))
    >>> [whole] = joined([(first, Attribute(("a",))), (second, Attribute(("b",)))])
    >>> whole[0] == text, sorted(whole[2])
    (True, [('a',), ('b',)])
    """
    known: dict[Expression, tuple[Expression, frozenset[Path]]] = {
        made: (value, frozenset({value.path})) for made, value in equations
    }
    found = True
    while found:
        wholes = [one for node in known for one in _wholes(node, known) if one[0] not in known]
        found = bool(wholes)
        known.update({whole: (value, paths) for whole, value, paths in wholes})
        yield from dict.fromkeys(wholes)


def _wholes(node: Expression, known: dict[Expression, tuple[Expression, frozenset[Path]]]) -> Iterator[Solved]:
    match node:
        case Call(name, (whole, Literal(str(mark)) as separator)):
            for first, second in _PAIRS:
                left, right = (known.get(Call(one, (whole, separator))) for one in (first, second))
                if name in (first, second) and left and right and mark:
                    value = Arithmetic("+", Arithmetic("+", left[0], separator), right[0])
                    yield whole, value, left[1] | right[1]
        case Call("substring", (whole, Literal(1), Literal(int(length)))) if length >= 0:
            rest = known.get(Call("substring", (whole, Literal(length + 1))))
            if rest:
                yield whole, Arithmetic("+", known[node][0], rest[0]), known[node][1] | rest[1]
