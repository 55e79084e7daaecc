"""From text to tree, with errors that show the place."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken

from comity.errors import ComityError, Misuse, Place
from comity.event.kinds import Point, in_range
from comity.event.times import parse_duration, parse_timestamp
from comity.expression.constraints import expand_constraint
from comity.expression.driver import Driver, Unfit
from comity.expression.flat import DEPTH, OPERATORS, read_flat
from comity.expression.like import check_pattern
from comity.expression.tree import (
    FALSE,
    TRUE,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Quantity,
    TextTest,
    conjunction,
    disjunction,
    is_truth,
    walk,
)
from comity.limits import Limits, limits

_NUMBER = re.compile(r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+")
_LONG_NUMBER = re.compile(r"\d{19}")
"""Only so long a number can be beyond 64 bits."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_READABLE = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "STRING": "'text'",
    "INT": "a number",
    "FLOAT": "a number",
    "QUANTITY": "a number",
    "TIMESTAMP": "a number",
    "SIGN": "+ or -",
    "SCALE": "* or /",
    "COMPARISON": "a comparison",
    "TEXT_TEST": "like, starts with, ends with, contains, matches",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "DOT": ".",
    "$END": "the end",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A tree and its text, so that later errors can point into the text."""

    tree: Expression
    text: str

    def locate(self, error: Misuse) -> Misuse:
        """The error with the line and column where the attribute that it names first stands in the text."""
        path = error.place.path if error.place else None
        if not path or (error.place and error.place.line):
            return error
        found = re.search(rf"(?<![\w.`'\"]){re.escape(path)}(?![\w.])", self.text)
        return error_at(self.text, found.start(), error) if found else error


def parse(text: str) -> Expression:
    """The tree of an expression.

    >>> parse("room = 'kitchen'")
    Compare(operator='=', left=Attribute(path=('room',)), right=Literal(value='kitchen'))
    """
    return parse_text(text).tree


def as_filter(tree: Expression) -> Expression:
    """The tree as a filter: `flag` means `flag = true`; anything else that is not true or false is refused."""
    if isinstance(tree, Attribute):
        return Compare("=", tree, TRUE)
    if isinstance(tree, Conditional):
        chosen = conjunction([tree.condition, as_filter(tree.then)])
        return disjunction([chosen, conjunction([Not(tree.condition), as_filter(tree.otherwise)])])
    if not is_truth(tree):
        raise Misuse("this expression is a value, not a condition", code="not-a-filter", hint="compare it: `… > 5`")
    return tree


def parse_text(text: str) -> Parsed:
    """The tree together with its text."""
    bounds = limits()
    bound = bounds.max_filter_chars
    if len(text) > bound:
        raise Misuse(
            f"the expression has {len(text):,} characters, the limit is {bound:,}",
            code="expression-too-long",
            hint="split it, or raise COMITY_MAX_FILTER_CHARS",
        )
    _check_characters(text)
    return Parsed(_read_at_once(text, bounds) or _parsed(text), text)


def _read_at_once(text: str, bounds: Limits) -> Expression | None:
    """The tree of a flat filter; None when the parser has to look at the text."""
    try:
        return read_flat(text) if bounds.max_expression_depth >= DEPTH else None
    except Misuse:
        return None


def _parsed(text: str) -> Expression:
    """The tree that the parser makes."""
    try:
        tree: Expression = _driver().parse(text)[0]
    except (Unfit, Misuse):
        tree = _parsed_with_places(text)
    if _LONG_NUMBER.search(text):
        _check_integers(tree, text)
    return tree


def _parsed_with_places(text: str) -> Expression:
    """The same by Lark's own driver, which knows where a token stands, and what else would have fitted there."""
    try:
        tree: Expression = _parser().parse(text)[0]  # type: ignore[index]
    except UnexpectedToken as error:
        raise _unexpected_token(text, error) from None
    except UnexpectedCharacters as error:
        raise _unexpected_character(text, error) from None
    except Misuse as error:
        raise shown_in(text, error) from None
    return tree


def _unexpected_token(text: str, error: UnexpectedToken) -> Misuse:
    if error.token.type == "$END":
        return _syntax_error(text, len(text.rstrip()), "the expression ends too early", error.expected)
    return _syntax_error(text, error.pos_in_stream or 0, f"{str(error.token)!r} does not fit here", error.expected)


def _unexpected_character(text: str, error: UnexpectedCharacters) -> Misuse:
    position = error.pos_in_stream or 0
    character = text[position]
    message = "this text has no closing quote" if character in "'\"`" else f"{character!r} does not fit here"
    for spelling, word in _FOREIGN.items():
        if text.startswith(spelling, position):
            found = Misuse(f"{spelling!r} does not fit here", code="syntax", hint=f"it is written `{word}`")
            return error_at(text, position, found)
    return _syntax_error(text, position, message, set(error.allowed or ()))


_FOREIGN = {"&&": "and", "||": "or", "!": "not", "∧": "and", "∨": "or", "¬": "not"}
"""How other languages write our words."""


def _syntax_error(text: str, position: int, message: str, expected: set[str]) -> Misuse:
    wanted = sorted({_READABLE.get(name, name.lower()) for name in expected})
    hint = f"expected {', '.join(wanted)}" if wanted else None
    return error_at(text, position, Misuse(message, code="syntax", hint=hint))


def error_at(text: str, position: int, error: Misuse) -> Misuse:
    """The error with its line, its column, and the faulty line with a caret under the place."""
    line = text.count("\n", 0, position) + 1
    begin = text.rfind("\n", 0, position) + 1
    column = position - begin + 1
    end = text.find("\n", begin)
    shown_from = max(begin, position - 60)
    shown = text[shown_from : min(end if end >= 0 else len(text), shown_from + 100)].replace("\t", " ")
    excerpt = f"  {shown}\n  {' ' * (position - shown_from)}^"
    place = Place(line=line, column=column, path=error.place.path if error.place else None)
    return Misuse(error.message, code=error.code, place=place, hint=error.hint, excerpt=excerpt)


def shown_in(text: str, error: Misuse) -> Misuse:
    """The error with the line that it stands in, if it knows its place."""
    if error.place is None or error.place.line is None:
        return error
    before = text.split("\n")[: error.place.line - 1]
    return error_at(text, sum(len(line) + 1 for line in before) + (error.place.column or 1) - 1, error)


def _check_characters(text: str) -> None:
    found = _SURROGATE.search(text)
    if found:
        error = Misuse("half of a surrogate pair is no character", code="bad-character")
        raise error_at(_SURROGATE.sub("?", text), found.start(), error)


def _check_integers(tree: Expression, text: str) -> None:
    for node in walk(tree):
        if isinstance(node, Literal) and isinstance(node.value, int) and not in_range(node.value):
            error = Misuse(f"{node.value} does not fit into 64 bits", code="integer-out-of-range")
            raise error_at(text, max(0, text.find(str(abs(node.value)))), error)


_Sized = tuple[Any, int]
"""A node and how deep it is, so that depth is bounded while the tree grows."""


def _deeper(*parts: _Sized) -> int:
    """The depth of a node over these parts."""
    depth = 1
    for _, below in parts:
        if below >= depth:
            depth = below + 1
    bound = limits().max_expression_depth
    if depth > bound:
        raise Misuse(
            f"the expression is nested more than {bound} levels deep",
            code="expression-too-deep",
            hint="flatten it, or raise COMITY_MAX_EXPRESSION_DEPTH",
        )
    return depth


class _Builder(Transformer[Token, Any]):
    """Builds nodes as the parser reduces: bottom up, without recursion, however deep the text is nested."""

    def start(self, parts: list[Any]) -> Any:
        return parts[0]

    def disjunction(self, parts: list[_Sized]) -> _Sized:
        return disjunction([as_filter(part[0]) for part in parts]), _deeper(*parts)

    def conjunction(self, parts: list[_Sized]) -> _Sized:
        return conjunction([as_filter(part[0]) for part in parts]), _deeper(*parts)

    def negation(self, parts: list[_Sized]) -> _Sized:
        return Not(as_filter(parts[0][0])), _deeper(parts[0])

    def conditional(self, parts: list[_Sized]) -> _Sized:
        depth, (test, then, other) = _deeper(*parts), parts
        return Conditional(as_filter(test[0]), then[0], other[0]), depth

    def compare(self, parts: list[Any]) -> _Sized:
        left, operator, right = parts
        return Compare(OPERATORS[str(operator)], left[0], right[0]), _deeper(left, right)

    def between(self, parts: list[Any]) -> _Sized:
        operand, negated, low, high = parts
        return Between(operand[0], low[0], high[0], negated is not None), _deeper(operand, low, high)

    def in_list(self, parts: list[Any]) -> _Sized:
        operand, negated, *items = parts
        members = tuple([_constant(item[0]) for item in items])
        return In(operand[0], members, negated is not None), _deeper(operand, *items)

    def in_constraint(self, parts: list[Any]) -> _Sized:
        operand, negated, (name, arguments) = parts
        values = tuple([argument[0] for argument in arguments])
        return expand_constraint(operand[0], name, values, negated=negated is not None), _deeper(operand, *arguments)

    def constraint(self, parts: list[Any]) -> tuple[str, list[_Sized]]:
        name, *given = parts
        return str(name), [argument for argument in given if argument is not None]

    def text_test(self, parts: list[Any]) -> _Sized:
        operand, negated, operator, text = parts
        test, value = " ".join(operator.lower().split()), _unquoted(text)
        try:
            check_pattern(test, value)
        except Misuse as error:
            raise _located(error, text, 1) from None
        return TextTest(test, operand[0], value, negated is not None), _deeper(operand)

    def exists(self, parts: list[Any]) -> _Sized:
        return Exists(parts[0][0]), _deeper(parts[0])

    def is_type(self, parts: list[Any]) -> _Sized:
        return IsType(".".join(parts[0])), 1

    def arithmetic(self, parts: list[Any]) -> _Sized:
        left, operator, right = parts
        return Arithmetic(str(operator), left[0], right[0]), _deeper(left, right)

    def signed(self, parts: list[Any]) -> _Sized:
        sign, operand = parts
        return operand if sign == "+" else (_negative(operand[0]), _deeper(operand))

    def call(self, parts: list[Any]) -> _Sized:
        name, *given = parts
        arguments = [argument for argument in given if argument is not None]
        try:
            return _called(str(name), tuple([argument[0] for argument in arguments])), _deeper(*arguments)
        except Misuse as error:
            raise _located(error, name) from None

    def attribute(self, parts: list[Any]) -> _Sized:
        return Attribute(parts[0]), 1

    def path(self, parts: list[str]) -> tuple[str, ...]:
        return tuple([part.strip("`") for part in parts])

    def timestamp(self, parts: list[str]) -> _Sized:
        return _constant_of(_timestamp, parts[0])

    def quantity(self, parts: list[str]) -> _Sized:
        number = _NUMBER.match(parts[0])
        assert number is not None, "the grammar puts a number first"
        value, depth = _constant_of(_number, parts[0], number[0])
        return Quantity(value.value, parts[0][number.end() :].strip()), depth

    def float(self, parts: list[str]) -> _Sized:
        return _constant_of(_number, parts[0])

    def int(self, parts: list[str]) -> _Sized:
        return _constant_of(_number, parts[0])

    def string(self, parts: list[str]) -> _Sized:
        return Literal(_unquoted(parts[0])), 1

    def true(self, _: list[Any]) -> _Sized:
        return TRUE, 1

    def false(self, _: list[Any]) -> _Sized:
        return FALSE, 1


def _constant_of(read: Callable[[str], Any], token: str, text: str | None = None) -> _Sized:
    """The literal that a token, or a part of it, spells; errors stand at the token."""
    try:
        return Literal(read(str(token) if text is None else text)), 1
    except Misuse as error:
        raise _located(error, token) from None


def _located(error: Misuse, token: str, after: int = 0) -> ComityError:
    """The error at the place of the token, if it has one."""
    if not isinstance(token, Token):
        return error
    return error.located(None, token.line or 1, (token.column or 1) + after)


def _unquoted(token: str) -> str:
    quote = token[0]
    return str(token[1:-1]).replace(quote * 2, quote)


def _number(text: str) -> int | float:
    if text.isdecimal():
        if len(text) > 20:
            raise Misuse(f"{text[:20]}… does not fit into 64 bits", code="integer-out-of-range")
        return int(text)
    value = float(text)
    if not in_range(value):
        raise Misuse(f"{text} is beyond the range of floats", code="float-out-of-range")
    return value


def _timestamp(text: str) -> object:
    """A date is its midnight; a time without a zone is in UTC."""
    whole = text if "t" in text.lower() else f"{text}T00:00:00"
    if re.search(r"[Tt]\d\d:\d\d(?!:)", whole):
        whole = re.sub(r"([Tt]\d\d:\d\d)", r"\1:00", whole)
    if not re.search(r"(?:[Zz]|[+-]\d\d:\d\d)$", whole):
        whole += "Z"
    value = parse_timestamp(whole)
    if value is None:
        raise Misuse(f"{text} is no date or time", code="bad-timestamp", hint="write 2026-01-31T12:00:00Z")
    return value


def _negative(operand: Expression) -> Expression:
    if isinstance(operand, Literal) and type(operand.value) in (int, float):
        return Literal(-operand.value)
    if isinstance(operand, Quantity):
        return Quantity(-operand.number, operand.unit)
    return Negative(operand)


def _constant(item: Expression) -> Expression:
    if not isinstance(item, Literal | Quantity):
        raise Misuse("the members of a list are constants", code="not-a-constant", hint="use `or` for other members")
    return item


def _called(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """A call; those that spell a constant become the constant."""
    if name == "lookup":
        return _lookup(arguments)
    values = [argument.value for argument in arguments if isinstance(argument, Literal)]
    if name in _CONSTANTS and len(values) == len(arguments):
        constant = _CONSTANTS[name](*values) if len(values) == (2 if name == "point" else 1) else None
        if constant is None:
            raise Misuse(f"{name}(…) cannot be read", code=f"bad-{name}")
        return Literal(constant)
    return Call(name, arguments)


def _lookup(arguments: tuple[Expression, ...]) -> Expression:
    if len(arguments) != 2 or not isinstance(arguments[0], Literal) or not isinstance(arguments[0].value, str):
        raise Misuse("lookup takes a table's name and a key: lookup('users', user)", code="arity")
    return Lookup(arguments[0].value, arguments[1])


def _bytes(text: object) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None


def _point(x: object, y: object) -> Point | None:
    numbers = type(x) in (int, float) and type(y) in (int, float)
    return Point(float(x), float(y)) if numbers else None  # type: ignore[arg-type]


_CONSTANTS: dict[str, Callable[..., object]] = {
    "duration": lambda text: parse_duration(text) if isinstance(text, str) else None,
    "bytes": _bytes,
    "point": _point,
}


@cache
def _driver() -> Driver:
    return Driver(_parser(), skipped=r"\s+|#[^\n]*")


@cache
def _parser() -> Lark:
    text = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", transformer=_Builder(), maybe_placeholders=True)
