"""From the text of a pattern to its tree, with errors that show the place.

From the loosest operator to the tightest: `|`, `;`, `&`, `:`, then `not`, then `first`, `last` and `[i]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken

from comity.errors import Misuse
from comity.event.types import EVENT
from comity.expression.parse import error_at, shown_in
from comity.limits import limits
from comity.pattern.text.durations import read_duration
from comity.pattern.text.foreign import ADVICE_FOR_TYPES, foreign_in_pattern
from comity.pattern.text.words import is_foreign_type, is_name, is_reserved
from comity.pattern.tree import (
    Absent,
    Both,
    Either,
    Operand,
    Pattern,
    Selection,
    Sequence,
    Silence,
    Together,
)

MOST_POSITION = 1_000_000
"""The greatest position that can be asked for."""

_READABLE = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "NUMBER": "a number",
    "VBAR": "|",
    "SEMICOLON": ";",
    "AMPERSAND": "&",
    "COLON": ":",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "DOT": ".",
    "__ANON_0": "..",
    "$END": "the end",
}
_OPERATORS = {"VBAR", "SEMICOLON", "AMPERSAND", "COLON"}
_SYMBOLS = {"and": "&", "or": "|"}
_BETWEEN = "between events stands `;` (one after the other), `&` (in any order), `|` (either) or `:` (at one time)"


def parse_pattern(text: str) -> Pattern:
    """The tree of a pattern.

    >>> parse_pattern("Heat h ; not Ventilation v within 5 min").within
    300000000
    """
    _check_length(text)
    try:
        pattern: Pattern = _parser().parse(text)  # type: ignore[assignment]
    except UnexpectedToken as error:
        raise _unexpected_token(text, error) from None
    except UnexpectedCharacters as error:
        position = error.pos_in_stream or 0
        plain = _syntax_error(text, position, f"{text[position]!r} does not fit here", set(error.allowed or ()))
        raise foreign_in_pattern(text, position) or plain from None
    except Misuse as error:
        raise shown_in(text, error) from None
    return pattern


def _check_length(text: str) -> None:
    bound = limits().max_filter_chars
    if len(text) > bound:
        message = f"the pattern has {len(text):,} characters, the limit is {bound:,}"
        raise Misuse(message, code="expression-too-long", hint="split it, or raise COMITY_MAX_FILTER_CHARS")


def _unexpected_token(text: str, error: UnexpectedToken) -> Misuse:
    token = error.token
    if token.type == "$END":
        return _syntax_error(text, len(text.rstrip()), "the pattern ends too early", error.expected)
    position, hint = error.pos_in_stream or 0, None
    foreign = foreign_in_pattern(text, position)
    if foreign is not None:
        return foreign
    if token.type in _OPERATORS and "WITHIN" in error.expected and not error.expected & _OPERATORS:
        hint = "a time frame stands last in its group: put parentheses around what it is about"
    elif token.type in ("NAME", "QUOTED_NAME") and error.expected >= _OPERATORS:
        hint = _BETWEEN
    return _syntax_error(text, position, f"{str(token)!r} does not fit here", error.expected, hint)


def _syntax_error(text: str, position: int, message: str, expected: set[str], hint: str | None = None) -> Misuse:
    wanted = sorted({_READABLE.get(name, name.lower()) for name in expected})
    hint = hint or (f"expected {', '.join(wanted)}" if wanted else None)
    return error_at(text, position, Misuse(message, code="syntax", hint=hint))


class _Named(NamedTuple):
    """An operand as it is written: where, of which type, and its name if it has one."""

    at: Token
    type: str
    name: str | None


class _Part(NamedTuple):
    """A part of the tree, how deep it is, the word that an error about it points to, and its operands."""

    node: Any
    depth: int
    at: Token
    operands: tuple[_Named, ...]
    has_parentheses: bool = False


class _Frame(NamedTuple):
    at: Token
    length: int


class _Positions(NamedTuple):
    at: Token
    first: int
    last: int


def _refusal(at: Token, message: str, hint: str | None = None, code: str = "syntax") -> Misuse:
    error = Misuse(message, code=code, hint=hint).located(None, at.line or 1, at.column or 1)
    assert isinstance(error, Misuse)
    return error


@contextmanager
def _placed(at: Token) -> Iterator[None]:
    """Errors inside stand at the token."""
    try:
        yield
    except Misuse as error:
        raise error.located(None, at.line or 1, at.column or 1) from None


def _joined(node: Any, parts: list[_Part], at: Token) -> _Part:
    """A node over its parts, one deeper than the deepest of them."""
    depth = 1 + max(part.depth for part in parts)
    bound = limits().max_expression_depth
    if depth > bound:
        hint = "flatten it, or raise COMITY_MAX_EXPRESSION_DEPTH"
        raise _refusal(at, f"the pattern is nested more than {bound} levels deep", hint, "expression-too-deep")
    return _Part(node, depth, at, tuple(operand for part in parts for operand in part.operands))


class _Builder(Transformer[Token, Any]):
    """Builds nodes as the parser reduces: bottom up, without recursion, however deep the text is nested."""

    def start(self, parts: list[_Part]) -> Pattern:
        names = iter(_operand_names(parts[0].operands))
        return _renamed(parts[0].node, names)

    def group(self, parts: list[Any]) -> _Part:
        part: _Part = parts[0]
        given: list[_Frame] = parts[1:]
        if len(given) > 1:
            raise _refusal(given[1].at, "two time frames in one group", "put parentheses around what each is about")
        if given:
            part = part._replace(node=_framed(part.node, given[0]))
        _check_complete(part)
        return part

    def frame(self, parts: list[Any]) -> _Frame:
        return _Frame(parts[0], parts[1])

    def duration(self, parts: list[Token]) -> int:
        if len(parts) == 1:
            raise _refusal(parts[0], "a length of time needs a unit", f"for example `{parts[0]} min`")
        with _placed(parts[0]):
            return read_duration(str(parts[0]), str(parts[1]))

    def either(self, parts: list[_Part]) -> _Part:
        _check_no_absence(parts, "|")
        waiting = next((part for part in parts if _lacks_frame(part.node)), parts[0])
        return _joined(Either(tuple(part.node for part in parts)), parts, waiting.at)

    def sequence(self, parts: list[_Part]) -> _Part:
        if all(isinstance(part.node, Absent) for part in parts):
            hint = "one step has to occur; or write one `not` over several: `not (A | B) within 5 min`"
            raise _refusal(parts[1].at, "a sequence of nothing but `not`", hint)
        return _joined(Sequence(tuple(part.node for part in parts)), parts, parts[-1].at)

    def both(self, parts: list[_Part]) -> _Part:
        _check_no_absence(parts, "&")
        return _joined(Both(tuple(part.node for part in parts)), parts, parts[0].at)

    def together(self, parts: list[Any]) -> _Part:
        *inner, last = parts
        steps = inner if isinstance(last, _Frame) else parts
        if len(steps) == 1:
            raise _refusal(last.at, "a tolerance is that of `:`", "write `A : B tolerance 2 s`")
        _check_no_absence(steps, ":")
        tolerance = last.length if isinstance(last, _Frame) else 0
        return _joined(Together(tuple(part.node for part in steps), tolerance), steps, steps[0].at)

    def tolerance(self, parts: list[Any]) -> _Frame:
        return _Frame(parts[0], parts[1])

    def absent(self, parts: list[Any]) -> _Part:
        word, part = parts
        if isinstance(part.node, Absent):
            raise _refusal(part.at, "a `not` of a `not`", "leave both out")
        return _Part(Absent(part.node), part.depth, word, part.operands)

    def ranked(self, parts: list[Any]) -> _Part:
        word, part = parts
        if isinstance(part.node, Selection) and not part.has_parentheses:
            raise _refusal(part.at, "two selections", "put parentheses around the one that comes first")
        position = 1 if word.type == "FIRST" else None
        return _joined(Selection(part.node, position, position), [part], word)

    def operand(self, parts: list[Any]) -> _Part:
        (at, name_of_type), *more = parts
        names = [one for one in more if isinstance(one, Token)]
        if names and is_foreign_type(name_of_type) and at.type == "NAME":
            hint = f"{ADVICE_FOR_TYPES[at.lower()]}; a type of this name stands in backticks"
            raise _refusal(at, f"{str(at)!r} does not fit here", hint)
        written = _Named(names[0] if names else at, name_of_type, str(names[0]).strip("`") if names else None)
        node = Operand("", None if name_of_type == EVENT.name else name_of_type)
        return _selected(_Part(node, 1, at, (written,)), more)

    def grouped(self, parts: list[Any]) -> _Part:
        inner, *more = parts
        return _selected(inner._replace(has_parentheses=True), more)

    def positions(self, parts: list[Token | None]) -> _Positions:
        begin, end = parts
        assert begin is not None, "the grammar asks for it"
        first = _position(begin)
        last = first if end is None else _position(end)
        if first > last:
            raise _refusal(begin, f"position {first} is behind position {last}", f"write `[{last}..{first}]`")
        return _Positions(begin, first, last)

    def type(self, parts: list[Token]) -> tuple[Token, str]:
        return parts[0], ".".join(str(part).strip("`") for part in parts)


def _selected(part: _Part, more: list[Any]) -> _Part:
    positions = [one for one in more if isinstance(one, _Positions)]
    if len(positions) > 1:
        raise _refusal(positions[1].at, "two selections", "put parentheses around the one that comes first")
    for one in positions:
        part = _joined(Selection(part.node, one.first, one.last), [part], part.at)
    return part


def _position(token: Token) -> int:
    if not token.isdecimal() or len(token) > 9 or not 1 <= int(token) <= MOST_POSITION:
        raise _refusal(token, f"a position is a whole number from 1 to {MOST_POSITION:,}")
    return int(token)


def _check_no_absence(parts: list[_Part], operator: str) -> None:
    for part in parts:
        if isinstance(part.node, Absent):
            hint = "a `not` is a step of a sequence, or has a time frame of its own: `(not N within 5 min)`"
            raise _refusal(part.at, f"a `not` cannot be a part of `{operator}`", hint)


# Time frames


def _framed(node: Any, frame: _Frame) -> Any:
    """What is in a group, with the frame of the group."""
    match node:
        case Absent(inner):
            return Silence(inner, frame.length)
        case Sequence(within=None) | Both(within=None):
            return replace(node, within=frame.length)
        case Either(parts):
            given = tuple(_framed(part, frame) if _takes_frame(part) else part for part in parts)
            if given != parts:
                return Either(given)
        case Sequence() | Both() | Silence():
            hint = "the parentheses have one; leave one of them out"
            raise _refusal(frame.at, "two time frames for one group", hint)
    hint = "`;`, `&` and a `not` have one: `A ; B within 5 min`; of `:` it is `tolerance`"
    raise _refusal(frame.at, "nothing in this group can have a time frame", hint)


def _takes_frame(node: Pattern) -> bool:
    match node:
        case Sequence(within=None) | Both(within=None):
            return True
        case Either(parts):
            return any(_takes_frame(part) for part in parts)
    return False


def _lacks_frame(node: Any) -> bool:
    """Whether it ends with a `not` of which nobody says how long it lasts."""
    match node:
        case Absent():
            return True
        case Sequence(steps, None):
            return isinstance(steps[-1], Absent)
        case Either(parts):
            return any(_lacks_frame(part) for part in parts)
    return False


def _check_complete(part: _Part) -> None:
    if isinstance(part.node, Absent):
        raise _refusal(part.at, "a `not` by itself needs a time frame", "write `not N within 5 min`")
    if _lacks_frame(part.node):
        hint = "say how long nothing may follow: `A ; not N within 5 min`"
        raise _refusal(part.at, "a `not` at the end needs a time frame", hint)


# Names


def _operand_names(written: tuple[_Named, ...]) -> Iterator[str]:
    """The name of each operand: its own, or that of its type with a number where it is in use."""
    used: set[str] = set()
    for one in written:
        if one.name is not None:
            if is_reserved(one.name) and one.at.type == "NAME":
                with _placed(one.at):
                    raise _bad_name(one.name)
            if one.name in used:
                hint = "give each operand a name of its own: `Heat h1 ; Heat h2`"
                raise _refusal(one.at, f"two operands are named {one.name!r}", hint, "duplicate-operand")
            used.add(one.name)
    counts: dict[str, int] = {}
    for one in written:
        yield one.name or _free_name(one, used, counts)


def _bad_name(name: str) -> Misuse:
    symbol = _SYMBOLS.get(name.lower())
    hint = (
        f"between events it is written `{symbol}`"
        if symbol
        else f"choose another name, or put it into backticks: `{name}`"
    )
    return Misuse(f"{name!r} cannot name an operand", code="syntax", hint=hint)


def _free_name(one: _Named, used: set[str], counts: dict[str, int]) -> str:
    """A name after the type that is not used; `counts` are the numbers that were given before."""
    simple = one.type.rpartition(".")[2]
    if not is_name(simple):
        raise _refusal(one.at, f"an operand of `{one.type}` needs a name", f"write `{one.at} x`")
    while True:
        counts[simple] = number = counts.get(simple, 0) + 1
        name = simple if number == 1 else f"{simple}{number}"
        if name not in used:
            used.add(name)
            return name


def _renamed(pattern: Pattern, names: Iterator[str]) -> Pattern:
    """The pattern with these names for its operands, in the order of writing."""
    match pattern:
        case Operand():
            return replace(pattern, name=next(names))
        case Sequence(steps):
            return replace(pattern, steps=tuple(_renamed_step(step, names) for step in steps))
        case Either(parts) | Both(parts) | Together(parts):
            return replace(pattern, parts=tuple(_renamed(part, names) for part in parts))
        case Silence(inner) | Selection(inner):
            return replace(pattern, pattern=_renamed(inner, names))


def _renamed_step(step: Pattern | Absent, names: Iterator[str]) -> Pattern | Absent:
    return Absent(_renamed(step.pattern, names)) if isinstance(step, Absent) else _renamed(step, names)


@cache
def _parser() -> Lark:
    text = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", transformer=_Builder(), maybe_placeholders=True)
