"""From the value of an expression to its attributes, layer by layer.

Every layer is an operation that is missing when what it works on is missing, so an attribute that comes back is missing
exactly when it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

from comity.contract.invert.choices import peel_conditional, peel_lookup, peel_truth, truth_read
from comity.contract.invert.found import Finding, Known, Obstacle, Recovered, if_together, unknown
from comity.contract.invert.numbers import is_arithmetic, peel_arithmetic
from comity.contract.invert.texts import is_concatenation, peel_concatenation
from comity.contract.shape import same_shape
from comity.errors import ComityError
from comity.event.kinds import Kind
from comity.expression.extensions import ExtensionFunction, installed_functions, load_functions
from comity.expression.kinds import kind_given
from comity.expression.render import render
from comity.expression.tree import (
    Attribute,
    Call,
    Conditional,
    Expression,
    Extension,
    Lookup,
    attributes,
)

_LOSSY = {
    "lower": "it does not tell capital letters from small ones",
    "upper": "it does not tell capital letters from small ones",
    "trim": "it leaves out spaces",
    "length": "it keeps the number of characters only",
    "substring": "it leaves out a part",
    "replace": "it does not tell what was replaced from what stood there before",
    "abs": "it leaves out the sign",
    "floor": "it leaves out the fraction",
    "ceil": "it leaves out the fraction",
    "coalesce": "it does not tell which of its values was there",
    "int": "several texts are one number",
    "float": "several texts are one number",
    "before": "it leaves out a part",
    "after": "it leaves out a part",
    "before_last": "it leaves out a part",
    "after_last": "it leaves out a part",
    "time_of_day": "it leaves out the date",
    "weekday": "it keeps the day of the week only",
    **{part: f"it keeps the {part} only" for part in ("year", "month", "day", "hour", "minute", "second")},
}
"""Functions that lose something, and what."""


def peel(node: Expression, value: Expression, known: Known) -> Iterator[Finding]:
    """What the value of an expression over the source tells of the attributes in it; `value` is over the target."""
    truth = truth_read(node, known.source)
    if isinstance(node, Attribute):
        yield _copied(node, value, known)
    elif not attributes(node):
        return
    elif truth is not None:
        yield from peel_truth(node, value, known, truth)
    elif isinstance(node, Lookup):
        yield from peel_lookup(node, value, known, peel)
    elif isinstance(node, Conditional):
        yield from peel_conditional(node, value, known, peel)
    elif is_concatenation(node, known.source):
        yield from peel_concatenation(node, value, known, peel)
    elif isinstance(node, Call):
        yield from _peel_call(node, value, known)
    elif isinstance(node, Extension):
        yield from _peel_extension(node, value, known)
    elif is_arithmetic(node, known.source):
        yield from peel_arithmetic(node, value, known, peel)
    else:
        yield Obstacle(attributes(node), "function", f"`{render(node)}` keeps whether it holds only")


def _copied(node: Attribute, value: Expression, known: Known) -> Finding:
    """The attribute itself; a struct or a list must have a place for everything that is in it."""
    declared = known.source.attribute_at(node.path)
    taken = known.target.attribute_at(value.path) if isinstance(value, Attribute) else None
    has_parts = declared is not None and declared.kind in (Kind.STRUCT, Kind.LIST)
    if has_parts and not (declared and taken and same_shape(declared, taken)):
        text = f"the target has no place for everything in {node.name}"
        return Obstacle(frozenset({node.path}), "other-shape", text)
    return Recovered(node.path, value)


def _peel_call(node: Call, value: Expression, known: Known) -> Iterator[Finding]:
    match node:
        case Call("point", (x, y)) if isinstance(value, Attribute):
            for part, name in ((x, "x"), (y, "y")):
                for found in peel(Call("float", (part,)), Attribute((*value.path, name)), known):
                    yield if_together(found, attributes(node), known)
        case Call("text", (part,)):
            yield from _peel_text(part, value, known)
        case Call("int", (part,)) if kind_given(part, known.source) in (Kind.INT, Kind.FLOAT):
            is_float = kind_given(part, known.source) is Kind.FLOAT
            yield from peel(part, Call("float", (value,)) if is_float else value, known)
        case Call("float", (part,)) if kind_given(part, known.source) is not Kind.STRING:
            yield from peel_arithmetic(node, value, known, peel)
        case Call("coalesce", (part,)):
            yield from peel(part, value, known)
        case Call(name, _):
            what = _LOSSY.get(name)
            if what is None:
                yield unknown(node, f"nothing is known to lead back from `{render(node)}`")
            else:
                yield Obstacle(attributes(node), "function", f"`{render(node)}`: {what}")


def _peel_text(part: Expression, value: Expression, known: Known) -> Iterator[Finding]:
    """The number or truth value that a text spells."""
    match kind_given(part, known.source):
        case Kind.INT:
            yield from peel(part, Call("int", (value,)), known)
        case Kind.FLOAT:
            yield from peel(part, Call("float", (value,)), known)
        case Kind.BOOL:
            yield from peel(part, Lookup("truth", value, (("true", True), ("false", False))), known)
        case _:
            yield unknown(part, f"no function reads the text of `{render(part)}`")


def _peel_extension(node: Extension, value: Expression, known: Known) -> Iterator[Finding]:
    """Back by the inverse that a function declares."""
    function = node.function
    if not function.lossless or function.takes_missing or not function.pure or len(node.arguments) != 1:
        yield unknown(node, f"{function.name} is not declared lossless, of one argument")
        return
    (part,) = node.arguments
    back = _declared_inverse(function)
    if back is None or back.gives is not kind_given(part, known.source):
        yield unknown(node, f"{function.name} is declared lossless, but names no inverse that leads back")
        return
    for found in peel(part, Extension(back.name, back, (value,)), known):
        yield replace(found, declared=(function.name, *found.declared)) if isinstance(found, Recovered) else found


def _declared_inverse(function: ExtensionFunction) -> ExtensionFunction | None:
    """The function that leads back, from where the function itself comes."""
    if function.inverse is None:
        return None
    try:
        known = load_functions(FilePath(function.source[0])) if function.source else installed_functions()
    except ComityError:
        return None
    return known.get(function.inverse)
