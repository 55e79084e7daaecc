r"""Regular expressions: a subset of the RE2 syntax, always matched against the whole value.

Accepted: literal characters; ``.`` (any character but a line feed); classes ``[a-z]``, ``[^…]``, ``[[:alpha:]]``; the
ASCII classes ``\d \D \w \W \s \S``; the escapes ``\a \f \n \r \t \v \xHH \x{H…}`` and a backslash before ASCII
punctuation; ``\Q…\E``; groups ``(…)`` and ``(?:…)``; the flag s as in ``(?s)`` and ``(?s:…)``; ``|``; ``* + ? {n} {n,}
{n,m}`` and their lazy forms (the same language); ``^``, ``\A``, ``$`` and ``\z`` at the ends, where they are idle.

What it accepts, RE2 accepts too and reads in the same way. Everything else is refused with the column.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

import re2

from comity.errors import Misuse, Place
from comity.expression.regex.java import is_linear_in_java, to_java
from comity.expression.regex.tree import (
    ALPHABET,
    MAX_CODE_POINT,
    Chars,
    Ranges,
    Regex,
    Repeat,
    choice,
    normal_ranges,
    other_than,
    sequence,
)
from comity.limits import limits

__all__ = [
    "Chars",
    "Ranges",
    "Regex",
    "Repeat",
    "compiled",
    "fullmatch",
    "is_linear_in_java",
    "parse_regex",
    "to_java",
]

MAX_REPETITION = 1000  # RE2's own bound, also on the product of nested ones


def parse_regex(text: str) -> Regex:
    r"""The tree of a pattern; `Misuse` with code bad-regex when it is none of ours.

    >>> parse_regex("a|[b-d]+")
    Alternation(items=(Chars(ranges=((97, 97),)), Repeat(item=Chars(ranges=((98, 100),)), low=1, high=None)))
    """
    return _parse(text)


def fullmatch(text: str) -> Callable[[str], bool]:
    r"""A test that is true for the values which the pattern matches from end to end, in time linear in the value.

    >>> fullmatch(r"\d+")("2026"), fullmatch(r"\d+")("2026 ")
    (True, False)
    """
    _parse(text)
    return _matcher(text)


def _of(chars: str) -> Ranges:
    return normal_ranges((ord(char), ord(char)) for char in chars)


_DIGIT = _of(string.digits)
_WORD = _of(string.ascii_letters + string.digits + "_")
_SPACE = _of("\t\n\f\r ")
_CLASSES = {
    "d": _DIGIT,
    "D": other_than(_DIGIT),
    "w": _WORD,
    "W": other_than(_WORD),
    "s": _SPACE,
    "S": other_than(_SPACE),
}
_NAMED_CLASSES: dict[str, Ranges] = {
    "alnum": _of(string.ascii_letters + string.digits),
    "alpha": _of(string.ascii_letters),
    "ascii": ((0, 0x7F),),
    "blank": _of("\t "),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": _of(string.ascii_lowercase),
    "print": ((0x20, 0x7E),),
    "punct": _of(string.punctuation),
    "space": _of("\t\n\v\f\r "),
    "upper": _of(string.ascii_uppercase),
    "word": _WORD,
    "xdigit": _of(string.hexdigits),
}
_ESCAPED = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_PUNCTUATION = frozenset(string.punctuation + " ")
_NOT_LINE_FEED = other_than(_of("\n"))
_REFUSED_ESCAPES = {
    **dict.fromkeys("123456789", "back-references and octal escapes are not supported"),
    **dict.fromkeys("bB", "word boundaries are not supported"),
    **dict.fromkeys("pP", "Unicode classes are not supported"),
    "C": "single bytes cannot be matched",
    "0": "octal escapes are not supported",
}


class _Group:
    """An open parenthesis: the branches behind it, and the branch under way."""

    __slots__ = ("branches", "dot", "items", "start", "weight")

    def __init__(self, start: int, dot: Ranges) -> None:
        self.start = start
        self.dot = dot
        self.branches: list[Regex] = []
        self.items: list[Regex] = []
        self.weight = 1  # the greatest product of nested counts so far

    def end_branch(self) -> None:
        self.branches.append(sequence(self.items))
        self.items = []


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = [_Group(0, _NOT_LINE_FEED)]
        self.item_weight = 0  # product of nested counts in the last item; 0 when there is nothing to repeat

    def parse(self) -> Regex:
        while self.at < len(self.text):
            self.take_one()
        if len(self.groups) > 1:
            self.refuse("the group is not closed", self.groups[-1].start)
        self.groups[0].end_branch()
        return choice(self.groups[0].branches)

    def refuse(self, reason: str, at: int, hint: str | None = None) -> NoReturn:
        raise Misuse(reason, code="bad-regex", place=Place(line=1, column=at + 1), hint=hint, excerpt=self.text[:200])

    def looking_at(self, start: str) -> bool:
        return self.text.startswith(start, self.at)

    def take_one(self) -> None:
        char = self.text[self.at]
        if char in "*+?{":
            self.take_quantifier(char)
        elif char in "()|":
            {"(": self.open_group, ")": self.close_group, "|": self.next_branch}[char]()
        elif char in "^$":
            self.take_anchor(1, at_start=char == "^")
        elif char == "\\":
            self.take_escape()
        elif char == "[":
            self.add(Chars(self.char_class()))
        else:
            self.at += 1
            self.add(Chars(self.groups[-1].dot if char == "." else self.one(char, self.at - 1)))

    def one(self, char: str, at: int) -> Ranges:
        code = ord(char)
        if 0xD800 <= code <= 0xDFFF:
            self.refuse("a surrogate is not a character", at)
        return ((code, code),)

    def add(self, item: Regex, weight: int = 1) -> None:
        self.groups[-1].items.append(item)
        self.item_weight = weight

    # Groups and anchors

    def open_group(self) -> None:
        start, dot = self.at, self.groups[-1].dot
        self.at += 1
        if self.looking_at("?"):
            flags, end = self.flags()
            dot = {"": dot, "s": ALPHABET, "-s": _NOT_LINE_FEED}[flags]
            if end == ")":
                self.groups[-1].dot = dot
                self.item_weight = 0
                return
        # A group takes up to three levels of the tree: a choice, a sequence and a repetition.
        if 3 * len(self.groups) > limits().max_expression_depth:
            self.refuse("the groups are nested too deeply", start)
        self.groups.append(_Group(start, dot))
        self.item_weight = 0

    def flags(self) -> tuple[str, str]:
        start = self.at - 1
        for flags in ("", "s", "-s"):
            for end in ":)":
                if self.looking_at(f"?{flags}{end}") and (flags or end == ":"):
                    self.at += len(flags) + 2
                    return flags, end
        if self.text.startswith(("?=", "?!", "?<=", "?<!"), self.at):
            self.refuse("look-around is not supported", start)
        self.refuse("of the groups that begin with (? only (?:…), (?s) and (?s:…) are supported", start)

    def close_group(self) -> None:
        if len(self.groups) == 1:
            self.refuse("nothing is open that this could close", self.at, r"write \) for the character")
        group = self.groups.pop()
        group.end_branch()
        self.groups[-1].weight = max(self.groups[-1].weight, group.weight)
        self.at += 1
        self.add(choice(group.branches), group.weight)

    def next_branch(self) -> None:
        self.groups[-1].end_branch()
        self.at += 1
        self.item_weight = 0

    def take_anchor(self, length: int, at_start: bool) -> None:
        rest = self.text[self.at + length : self.at + length + 1]
        fits = not self.groups[-1].items if at_start else rest in ("", "|")
        if len(self.groups) > 1 or not fits:
            self.refuse("anchors are supported at the ends only", self.at, "a pattern always matches the whole value")
        self.at += length
        self.item_weight = 0

    # Quantifiers

    def take_quantifier(self, char: str) -> None:
        start = self.at
        low, high = self.counts() if char == "{" else {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        if char != "{":
            self.at += 1
        if not self.item_weight:
            self.refuse("there is nothing to repeat", start)
        if self.looking_at("?"):
            self.at += 1
        weight = self.item_weight * max((low if high is None else high), 1) if char == "{" else self.item_weight
        if weight > MAX_REPETITION:
            self.refuse(f"repeats more than {MAX_REPETITION} times", start)
        group = self.groups[-1]
        group.weight = max(group.weight, weight)
        group.items[-1] = Repeat(group.items[-1], low, high)
        self.item_weight = 0  # RE2 refuses a quantifier behind another

    def counts(self) -> tuple[int, int | None]:
        start = self.at
        end = self.text.find("}", start)
        low, comma, high = self.text[start + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not _is_count(low) or (high and not _is_count(high)):
            self.refuse("the count is not of the form {n}, {n,} or {n,m}", start, r"write \{ for the character")
        least = int(low)
        most = int(high) if high else None if comma else least
        if max(least, most or 0) > MAX_REPETITION:
            self.refuse(f"a count is at most {MAX_REPETITION}", start)
        if most is not None and most < least:
            self.refuse("the first count is greater than the second", start)
        self.at = end + 1
        return least, most

    # Escapes and classes

    def take_escape(self) -> None:
        if self.looking_at("\\Q"):
            self.take_quoted()
        elif self.looking_at("\\A") or self.looking_at("\\z"):
            self.take_anchor(2, at_start=self.looking_at("\\A"))
        else:
            self.add(Chars(self.escape()))

    def take_quoted(self) -> None:
        end = self.text.find("\\E", self.at + 2)
        stop = len(self.text) if end < 0 else end
        self.item_weight = 0
        for at in range(self.at + 2, stop):
            self.add(Chars(self.one(self.text[at], at)))
        self.at = len(self.text) if end < 0 else end + 2

    def escape(self) -> Ranges:
        start = self.at
        if start + 1 == len(self.text):
            self.refuse("a backslash stands at the end", start)
        char = self.text[start + 1]
        self.at += 2
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _ESCAPED or char in _PUNCTUATION:
            return self.one(chr(_ESCAPED.get(char, ord(char))), start)
        if char == "x":
            return self.one(chr(self.hex_code(start)), start)
        self.refuse(_REFUSED_ESCAPES.get(char, f"\\{char} is not a known escape"), start)

    def hex_code(self, start: int) -> int:
        if self.looking_at("{"):
            end = self.text.find("}", self.at)
            digits, self.at = self.text[self.at + 1 : max(end, self.at + 1)], end + 1
        else:
            digits = self.text[self.at : self.at + 2]
            self.at += 2
            if len(digits) < 2:
                digits = ""
        is_hex = 0 < len(digits) <= 8 and set(digits) <= set(string.hexdigits)
        if not is_hex or int(digits, 16) > MAX_CODE_POINT:
            self.refuse("the hexadecimal escape names no character", start, r"write \x41 or \x{1F600}")
        return int(digits, 16)

    def char_class(self) -> Ranges:
        start = self.at
        self.at += 1
        negated = self.looking_at("^")
        self.at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while first or not self.looking_at("]"):
            if self.at >= len(self.text):
                self.refuse("the class is not closed", start, r"write \[ for the character")
            ranges += self.class_item(start)
            first = False
        self.at += 1
        return other_than(ranges) if negated else normal_ranges(ranges)

    def class_item(self, start: int) -> Ranges:
        if self.looking_at("[:") and (end := self.text.find(":]", self.at + 2)) > 0:
            return self.named_class(end)
        begin = self.at
        low = self.class_char(start)
        if not self.looking_at("-") or self.text[self.at + 1 : self.at + 2] in ("", "]"):
            return low
        if self.text[begin : begin + 2].startswith("\\") and self.text[begin + 1] in _CLASSES:
            return low
        self.at += 1
        middle = self.at
        high = self.class_char(start)
        if self.text[middle] == "\\" and self.text[middle + 1] in _CLASSES:
            self.refuse("a range ends in a character, not in a class", middle)
        if high[0][0] < low[0][0]:
            self.refuse("the range is the wrong way round", begin)
        return ((low[0][0], high[0][0]),)

    def class_char(self, start: int) -> Ranges:
        if self.looking_at("\\"):
            return self.escape()
        if self.at >= len(self.text):
            self.refuse("the class is not closed", start)
        self.at += 1
        return self.one(self.text[self.at - 1], self.at - 1)

    def named_class(self, end: int) -> Ranges:
        name = self.text[self.at + 2 : end]
        ranges = _NAMED_CLASSES.get(name.removeprefix("^"))
        if ranges is None:
            self.refuse(f"no class is named {name!r}", self.at)
        self.at = end + 2
        return other_than(ranges) if name.startswith("^") else ranges


def _is_count(digits: str) -> bool:
    return digits.isascii() and digits.isdecimal() and len(digits) < 5 and (digits == "0" or digits[0] != "0")


@lru_cache(maxsize=1024)
def _parse(text: str) -> Regex:
    if len(text) > limits().max_filter_chars:
        raise Misuse("the pattern is too long", code="bad-regex", place=Place(line=1, column=1))
    regex = _Parser(text).parse()
    _matcher(text)  # RE2 has bounds of its own on the size of what it compiles
    return regex


@lru_cache(maxsize=1024)
def _matcher(text: str) -> Callable[[str], bool]:
    return compiled(text)


def compiled(pattern: str, *, dot_takes_line_feed: bool = False) -> Callable[[str], bool]:
    """A test for whole values against a pattern in RE2's own syntax."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.dot_nl = dot_takes_line_feed
    try:
        match = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise Misuse(f"RE2 refuses it: {reason}", code="bad-regex", place=Place(line=1, column=1)) from error

    def matches(value: str) -> bool:
        # Bytes spare the library the translation of offsets, which nobody asks for.
        return match(value.encode()) is not None

    return matches
