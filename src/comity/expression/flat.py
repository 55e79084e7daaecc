"""Flat filters, read by one regular expression: comparisons of an attribute with constants, joined by `and` and `or`.

Most profiles are of this shape, and the parser takes many times as long for them. What is read here is the same tree
that the parser makes; whatever is not of this shape, or might be wrong, is left to the parser, which also knows how to
say what is wrong. So the pattern is narrower than the grammar: names and digits of ASCII, units of nothing but letters,
no comment, no doubled quote, no number that could be out of range.
"""

from __future__ import annotations

import re
from functools import lru_cache

from comity.expression.like import check_pattern
from comity.expression.render import KEYWORDS
from comity.expression.tree import (
    FALSE,
    TRUE,
    And,
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    Literal,
    Or,
    Quantity,
    TextTest,
)

DEPTH = 5
"""The most levels that such a filter has, by the measure of the parser, for which a minus is a level."""
OPERATORS = {"==": "=", "<>": "!=", **{one: one for one in ("=", "!=", "<", "<=", ">", ">=")}}
"""What a comparison may be written as, and its operator."""

_NAME = rf"(?!(?ai:{'|'.join(sorted(KEYWORDS))})\b)[A-Za-z_][A-Za-z0-9_]*+"
_PATH = rf"{_NAME}(?:\.{_NAME})*+"
_TEXT = r"""(?:'[^']*+'|"[^"]*+")"""
_NUMBER = r"-?+[0-9]{1,18}+(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]{1,2}+)?+"
_UNIT = rf"[ \t]*+(?!(?ai:{'|'.join(sorted(KEYWORDS))})\b)[A-Za-z]++(?![\w°µμΩ*/^])"
_CONSTANT = rf"(?:{_NUMBER}(?:{_UNIT})?+|{_TEXT}|(?ai:true|false)\b)"
_ATOM = re.compile(
    rf"""(?ax:
    (?P<path>{_PATH}) \s*+
    (?: (?P<operator>[<>=!]{{1,2}}+) \s*+ (?P<constant>{_CONSTANT})
      | (?P<negated>(?i:not)\s++)?+
        (?: (?i:between)\s++ (?P<low>{_CONSTANT}) \s++(?i:and)\s++ (?P<high>{_CONSTANT})
          | (?i:in)\s*+\( \s*+ (?P<items>{_CONSTANT} (?: \s*+,\s*+ {_CONSTANT} )*+ ) \s*+\)
          | (?P<test>(?i:like|contains|matches|starts\s++with|ends\s++with))\b \s*+ (?P<text>{_TEXT})
        )
    )
    | (?i:exists)\s++ (?P<there>{_PATH})
    ) \s*+ (?: (?P<joint>(?ai:and|or))\b \s*+ | \Z )""",
    re.VERBOSE,
)
"""A comparison, and what joins it with the next."""
_constants = re.compile(_CONSTANT).findall
_number = re.compile(_NUMBER).match


def read_flat(text: str) -> Expression | None:
    """The tree of a flat filter; None when the text is none. A bad pattern in it raises `Misuse`.

    >>> read_flat("heat > 40 degC and room in ('attic', 'hall')") is None, read_flat("heat > 4 m/s") is None
    (False, True)
    """
    choices: list[Expression] = []
    atoms: list[Expression] = []
    position, match = 0, _ATOM.match
    while found := match(text, position):
        atom = _atom(*found.groups())
        if atom is None:
            return None
        atoms.append(atom)
        joint = found["joint"]
        if joint is None:
            choices.append(_all_of(atoms))
            return choices[0] if len(choices) == 1 else Or(tuple(choices))
        if joint in _OR:
            choices.append(_all_of(atoms))
            atoms = []
        position = found.end()
    return None


_OR = frozenset({"or", "Or", "oR", "OR"})


def _all_of(atoms: list[Expression]) -> Expression:
    return atoms[0] if len(atoms) == 1 else And(tuple(atoms))


def _atom(
    path: str | None,
    operator: str | None,
    constant: str,
    negated: str | None,
    low: str | None,
    high: str,
    items: str | None,
    test: str | None,
    text: str,
    there: str,
    _: str | None,
) -> Expression | None:
    """The comparison that these parts of a text say; None for one that there is not, such as `=<`."""
    if path is None:
        return Exists(_attribute(there))
    attribute = _attribute(path)
    if operator is not None:
        known = OPERATORS.get(operator)
        return None if known is None else Compare(known, attribute, _constant(constant))
    if low is not None:
        return Between(attribute, _constant(low), _constant(high), negated is not None)
    if items is not None:
        return In(attribute, tuple([_constant(item) for item in _constants(items)]), negated is not None)
    assert test is not None, "the pattern has no other comparison"
    named = " ".join(test.lower().split())
    check_pattern(named, text[1:-1])
    return TextTest(named, attribute, text[1:-1], negated is not None)


@lru_cache(maxsize=1024)
def _attribute(path: str) -> Attribute:
    return Attribute(tuple(path.split(".")))


def _constant(text: str) -> Literal | Quantity:
    first = text[0]
    if first in "'\"":
        return Literal(text[1:-1])
    if first in "tT":
        return TRUE
    if first in "fF":
        return FALSE
    found = _number(text)
    assert found is not None, "a constant that is neither a text nor true or false begins with a number"
    number, unit = found[0], text[found.end() :]
    value = float(number) if "." in number or "e" in number or "E" in number else int(number)
    return Quantity(value, unit.strip()) if unit else Literal(value)
