r"""SQL LIKE: ``%`` stands for any run of characters, ``_`` for one character, a backslash quotes.

Here "any character" includes the line feed, and the whole value must match.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from comity.errors import Misuse, Place
from comity.expression.regex.parse import compiled, parse_regex
from comity.expression.regex.tree import ANY, ANY_RUN, Regex, literal, sequence


class Wildcard(Enum):
    """What is not a literal text in a LIKE pattern."""

    ONE = "_"
    RUN = "%"


Token = str | Wildcard


@lru_cache(maxsize=1024)
def like_tokens(pattern: str) -> tuple[Token, ...]:
    r"""The pattern as literal texts and wildcards; neighbouring runs are one.

    >>> like_tokens("50\\%_%%")
    ('50%', <Wildcard.ONE: '_'>, <Wildcard.RUN: '%'>)
    """
    tokens: list[Token] = []
    chars = iter(enumerate(pattern, start=1))
    for column, char in chars:
        if char == "\\":
            _, char = next(chars, (0, ""))
            if not char:
                raise Misuse(
                    "a backslash at the end escapes nothing",
                    code="bad-like",
                    place=Place(line=1, column=column),
                    hint=r"write \\ for the character",
                )
            _add_text(tokens, char)
        elif char == "%":
            if tokens[-1:] != [Wildcard.RUN]:
                tokens.append(Wildcard.RUN)
        elif char == "_":
            tokens.append(Wildcard.ONE)
        else:
            _add_text(tokens, char)
    return tuple(tokens)


def _add_text(tokens: list[Token], char: str) -> None:
    if tokens and isinstance(tokens[-1], str):
        tokens[-1] += char
    else:
        tokens.append(char)


@lru_cache(maxsize=1024)
def like_matcher(pattern: str) -> Callable[[str], bool]:
    """A test for the values that the pattern matches, in time linear in the value.

    >>> like_matcher("a%z")("abcz"), like_matcher("a_")("abc")
    (True, False)
    """
    tokens = like_tokens(pattern)
    return _simple_matcher(tokens) or _general_matcher(tokens)


def _simple_matcher(tokens: tuple[Token, ...]) -> Callable[[str], bool] | None:
    match tokens:
        case ():
            return "".__eq__
        case (str(text),):
            return text.__eq__
        case (Wildcard.RUN,):
            return lambda value: True
        case (str(text), Wildcard.RUN):
            return lambda value: value.startswith(text)
        case (Wildcard.RUN, str(text)):
            return lambda value: value.endswith(text)
        case (Wildcard.RUN, str(text), Wildcard.RUN):
            return lambda value: text in value
    return None


def _general_matcher(tokens: tuple[Token, ...]) -> Callable[[str], bool]:
    parts = {Wildcard.ONE: ".", Wildcard.RUN: ".*"}
    pattern = "".join(_quoted(token) if isinstance(token, str) else parts[token] for token in tokens)
    try:
        return compiled(pattern, dot_takes_line_feed=True)
    except Misuse as error:
        raise Misuse("the pattern is too large", code="bad-like", place=Place(line=1, column=1)) from error


def _quoted(text: str) -> str:
    return "".join(char if char.isalnum() or ord(char) > 127 else rf"\x{ord(char):02x}" for char in text)


def like_to_regex(pattern: str) -> Regex:
    """The same pattern as the tree of a regular expression.

    >>> like_to_regex("a%").items[1]
    Repeat(item=Chars(ranges=((0, 55295), (57344, 1114111))), low=0, high=None)
    """
    return sequence(part for token in like_tokens(pattern) for part in _token_parts(token))


def _token_parts(token: Token) -> tuple[Regex, ...]:
    if token is Wildcard.ONE:
        return (ANY,)
    if token is Wildcard.RUN:
        return (ANY_RUN,)
    assert isinstance(token, str)
    return tuple(literal(char) for char in token)


def check_pattern(test: str, pattern: str) -> None:
    """Refuse a pattern that a text test cannot have."""
    if test == "like":
        like_matcher(pattern)
    elif test == "matches":
        parse_regex(pattern)
