"""From the value of an expression to its attributes, layer by layer.

Every layer is an operation that is missing when what it works on is missing, so an attribute that comes back is missing
exactly when it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

from comity.contract.invert.choices import peel_conditional, peel_lookup, peel_truth, truth_read
from comity.contract.invert.found import Finding, InversionFacts, Obstacle, Recovered, if_together, unknown
from comity.contract.invert.numbers import is_arithmetic, peel_arithmetic
from comity.contract.invert.texts import is_concatenation, peel_concatenation
from comity.contract.shape import same_shape
from comity.errors import ComityError
from comity.event.kinds import Kind
from comity.expression.extensions import ExtensionFunction, installed_functions, load_functions
from comity.expression.functions import FUNCTIONS, Function
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


def peel(node: Expression, value: Expression, known: InversionFacts) -> Iterator[Finding]:
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


def _copied(node: Attribute, value: Expression, known: InversionFacts) -> Finding:
    """The attribute itself; a struct or a list must have a place for everything that is in it."""
    declared = known.source.attribute_at(node.path)
    taken = known.target.attribute_at(value.path) if isinstance(value, Attribute) else None
    has_parts = declared is not None and declared.kind in (Kind.STRUCT, Kind.LIST)
    if has_parts and not (declared and taken and same_shape(declared, taken)):
        text = f"the target has no place for everything in {node.name}"
        return Obstacle(frozenset({node.path}), "other-shape", text)
    return Recovered(node.path, value)


def _peel_call(node: Call, value: Expression, known: InversionFacts) -> Iterator[Finding]:
    match node:
        case Call("point", (x, y)) if isinstance(value, Attribute):
            for part, name in ((x, "x"), (y, "y")):
                for found in peel(Call("float", (part,)), Attribute((*value.path, name)), known):
                    yield if_together(found, attributes(node), known)
        case Call("text", (part,)) if kind_given(part, known.source) is Kind.BOOL:
            yield from peel(part, Lookup("truth", value, (("true", True), ("false", False))), known)
        case Call("float", (part,)) if kind_given(part, known.source) is not Kind.STRING:
            yield from peel_arithmetic(node, value, known, peel)
        case Call("coalesce", (part,)):
            yield from peel(part, value, known)
        case Call("coalesce", _):
            text = f"`{render(node)}`: it does not tell which of its values was there"
            yield Obstacle(attributes(node), "function", text)
        case Call(name, _):
            yield from _peel_function(FUNCTIONS[name], node, value, known)


def _peel_function(function: Function, node: Call, value: Expression, known: InversionFacts) -> Iterator[Finding]:
    """Back by the function that the record names for the kind of the argument."""
    (part, *others) = node.arguments
    kind = kind_given(part, known.source)
    if kind is not None and function.back and kind in function.back and not others:
        name = function.back[kind]
        yield from peel(part, value if name is None else Call(name, (value,)), known)
    elif function.loses:
        yield Obstacle(attributes(node), "function", f"`{render(node)}`: {function.loses}")
    else:
        yield unknown(node, f"nothing is known to lead back from `{render(node)}`")


def _peel_extension(node: Extension, value: Expression, known: InversionFacts) -> Iterator[Finding]:
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
