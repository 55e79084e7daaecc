"""Shapes: what of a comparison decides whether binding changes it, so that a scope looks at each of them once."""

from __future__ import annotations

from comity.expression.scope import Shape
from comity.expression.tree import Attribute, Between, Compare, Exists, Expression, In, Literal, TextTest


def shapes_of(node: Expression) -> tuple[Shape, ...]:
    """The comparisons of one attribute with one constant each that a node consists of; none when it is something else.

    An interval compares by order with both its ends, a list by equality with its members. Binding them looks at nothing
    but the attribute and the classes of the constants: a number without a unit stands in that of the attribute, a text
    in its codes, and a text is never read as a time. What has a unit is converted, and so has no shape.

    >>> from comity.expression.parse import parse
    >>> shapes_of(parse("heat between 1 and 2.5")), shapes_of(parse("heat > cold"))
    (((('heat',), '<', <class 'int'>), (('heat',), '<', <class 'float'>)), ())
    """
    match node:
        case Compare(operator, Attribute(path), Literal(value)):
            return ((path, operator, type(value)),)
        case Between(Attribute(path), Literal(low), Literal(high)):
            return (path, "<", type(low)), (path, "<", type(high))
        case In(Attribute(path), items):
            found = tuple([(path, "=", type(item.value)) for item in items if isinstance(item, Literal)])
            return found if len(found) == len(items) else ()
        case TextTest(test, Attribute(path)):
            return ((path, test, str),)
        case Exists(Attribute(path)):
            return ((path, "exists", bool),)
    return ()
