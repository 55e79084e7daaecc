"""From text to tree, with errors that show the place."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken

from comity.errors import Misuse, Place
from comity.event.kinds import Point, in_range
from comity.event.times import parse_duration, parse_timestamp
from comity.expression.constraints import expand_constraint
from comity.expression.like import like_matcher
from comity.expression.regex.parse import parse_regex
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
from comity.limits import limits

_NUMBER = re.compile(r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+")
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


def parse_filter(text: str) -> Expression:
    """The tree of an expression that is true or false; a lone attribute means that it is true."""
    return as_filter(parse(text))


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
    bound = limits().max_filter_chars
    if len(text) > bound:
        raise Misuse(
            f"the expression has {len(text):,} characters, the limit is {bound:,}",
            code="expression-too-long",
            hint="split it, or raise COMITY_MAX_FILTER_CHARS",
        )
    _check_characters(text)
    try:
        tree = _parser().parse(text).node  # type: ignore[attr-defined]
    except UnexpectedToken as error:
        raise _unexpected_token(text, error) from None
    except UnexpectedCharacters as error:
        raise _unexpected_character(text, error) from None
    except Misuse as error:
        raise shown_in(text, error) from None
    _check_integers(tree, text)
    return Parsed(tree, text)


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


class _Sized(NamedTuple):
    """A node and how deep it is, so that depth is bounded while the tree grows."""

    node: Any
    depth: int


def _sized(build: Callable[..., Expression], *parts: Any) -> _Sized:
    """A node over its parts, one deeper than the deepest of them."""
    depth = 1 + max((part.depth for part in parts if isinstance(part, _Sized)), default=0)
    bound = limits().max_expression_depth
    if depth > bound:
        raise Misuse(
            f"the expression is nested more than {bound} levels deep",
            code="expression-too-deep",
            hint="flatten it, or raise COMITY_MAX_EXPRESSION_DEPTH",
        )
    return _Sized(build(*(part.node if isinstance(part, _Sized) else part for part in parts)), depth)


class _Builder(Transformer[Token, Any]):
    """Builds nodes as the parser reduces: bottom up, without recursion, however deep the text is nested."""

    def start(self, parts: list[Any]) -> Any:
        return parts[0]

    def disjunction(self, parts: list[Any]) -> _Sized:
        return _sized(lambda *items: disjunction([as_filter(item) for item in items]), *parts)

    def conjunction(self, parts: list[Any]) -> _Sized:
        return _sized(lambda *items: conjunction([as_filter(item) for item in items]), *parts)

    def negation(self, parts: list[Any]) -> _Sized:
        return _sized(lambda item: Not(as_filter(item)), parts[0])

    def conditional(self, parts: list[Any]) -> _Sized:
        return _sized(lambda test, then, other: Conditional(as_filter(test), then, other), *parts)

    def compare(self, parts: list[Any]) -> _Sized:
        left, operator, right = parts
        plain = {"==": "=", "<>": "!="}.get(operator, str(operator))
        return _sized(lambda a, b: Compare(plain, a, b), left, right)

    def between(self, parts: list[Any]) -> _Sized:
        operand, negated, low, high = parts
        return _sized(lambda a, b, c: Between(a, b, c, negated is not None), operand, low, high)

    def in_list(self, parts: list[Any]) -> _Sized:
        operand, negated, *items = parts
        return _sized(
            lambda a, *rest: In(a, tuple(_constant(item) for item in rest), negated is not None), operand, *items
        )

    def in_constraint(self, parts: list[Any]) -> _Sized:
        operand, negated, call = parts
        return _sized(
            lambda a, c: expand_constraint(a, c.function, c.arguments, negated=negated is not None), operand, call
        )

    def text_test(self, parts: list[Any]) -> _Sized:
        operand, negated, operator, text = parts
        test, value = " ".join(operator.lower().split()), _unquoted(text)
        try:
            check_pattern(test, value)
        except Misuse as error:
            raise error.located(None, text.line or 1, (text.column or 1) + 1) from None
        return _sized(lambda a: TextTest(test, a, value, negated is not None), operand)

    def exists(self, parts: list[Any]) -> _Sized:
        return _sized(Exists, parts[0])

    def is_type(self, parts: list[Any]) -> _Sized:
        return _Sized(IsType(".".join(parts[0])), 1)

    def arithmetic(self, parts: list[Any]) -> _Sized:
        left, operator, right = parts
        return _sized(lambda a, b: Arithmetic(str(operator), a, b), left, right)

    def signed(self, parts: list[Any]) -> _Sized:
        sign, operand = parts
        return operand if sign == "+" else _sized(_negative, operand)

    def call(self, parts: list[Any]) -> _Sized:
        name, *arguments = parts
        with _placed(name):
            return _sized(lambda *given: _called(str(name), given), *(item for item in arguments if item is not None))

    def attribute(self, parts: list[Any]) -> _Sized:
        return _Sized(Attribute(parts[0]), 1)

    def path(self, parts: list[Token]) -> tuple[str, ...]:
        return tuple(str(part).strip("`") for part in parts)

    def timestamp(self, parts: list[Token]) -> _Sized:
        with _placed(parts[0]):
            return _Sized(Literal(_timestamp(str(parts[0]))), 1)

    def quantity(self, parts: list[Token]) -> _Sized:
        number = _NUMBER.match(parts[0])
        assert number is not None, "the grammar puts a number first"
        with _placed(parts[0]):
            return _Sized(Quantity(_number(number[0]), parts[0][number.end() :].strip()), 1)

    def float(self, parts: list[Token]) -> _Sized:
        with _placed(parts[0]):
            return _Sized(Literal(_number(str(parts[0]))), 1)

    def int(self, parts: list[Token]) -> _Sized:
        with _placed(parts[0]):
            return _Sized(Literal(_number(str(parts[0]))), 1)

    def string(self, parts: list[Token]) -> _Sized:
        return _Sized(Literal(_unquoted(parts[0])), 1)

    def true(self, _: list[Any]) -> _Sized:
        return _Sized(TRUE, 1)

    def false(self, _: list[Any]) -> _Sized:
        return _Sized(FALSE, 1)


@contextmanager
def _placed(token: Token) -> Iterator[None]:
    """Errors inside stand at the token."""
    try:
        yield
    except Misuse as error:
        raise error.located(None, token.line or 1, token.column or 1) from None


def check_pattern(test: str, pattern: str) -> None:
    """Refuse a pattern that a text test cannot have."""
    if test == "like":
        like_matcher(pattern)
    elif test == "matches":
        parse_regex(pattern)


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
            raise Misuse(f"this {name} cannot be read", code=f"bad-{name}")
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
def _parser() -> Lark:
    text = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", transformer=_Builder(), maybe_placeholders=True)
