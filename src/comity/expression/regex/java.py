"""Regular expressions for Java's matcher, which backtracks."""

from __future__ import annotations

from comity.expression.regex.tree import Alternation, Chars, Concatenation, Ranges, Regex, Repeat

MAX_JAVA_RUNS = 2
"""Quantifiers that may compete for the same characters; each adds a factor of the value's length to the worst case."""
MAX_JAVA_WAYS = 64
"""Paths through the choices of a pattern that the matcher may have to try one by one."""


def is_linear_in_java(regex: Regex) -> bool:
    """Whether the backtracking matcher of Java is safe here: repetitions of single characters only, and few of them.

    >>> from comity.expression.regex.parse import parse_regex
    >>> is_linear_in_java(parse_regex("[a-z]+@example[.]com")), is_linear_in_java(parse_regex("(a*)*b"))
    (True, False)
    """
    runs, ways = _backtracking(regex)
    return runs <= MAX_JAVA_RUNS and ways <= MAX_JAVA_WAYS


_HOPELESS = (MAX_JAVA_RUNS + 1, MAX_JAVA_WAYS + 1)


def _backtracking(regex: Regex) -> tuple[int, int]:
    """How many runs of free length, and how many ways through the choices, the matcher meets at most."""
    if isinstance(regex, Chars):
        return 0, 1
    if isinstance(regex, Repeat):
        return _backtracking_of_repeat(regex)
    runs, ways = 0, 1 if isinstance(regex, Concatenation) else 0
    for item in regex.items:
        item_runs, item_ways = _backtracking(item)
        if isinstance(regex, Concatenation):
            runs, ways = runs + item_runs, ways * item_ways
        else:
            runs, ways = max(runs, item_runs), ways + item_ways
        if runs > MAX_JAVA_RUNS or ways > MAX_JAVA_WAYS:
            return _HOPELESS
    return runs, ways


def _backtracking_of_repeat(regex: Repeat) -> tuple[int, int]:
    if isinstance(regex.item, Chars):
        if regex.low == regex.high:
            return 0, 1
        return (0, 2) if regex.high == 1 else (1, 1)
    if regex.high == 1:
        runs, ways = _backtracking(regex.item)
        return runs, ways + 1
    return _HOPELESS


def to_java(regex: Regex) -> str:
    r"""A Java pattern for the same whole values, anchored at both ends, free of flags and locales.

    >>> from comity.expression.regex.parse import parse_regex
    >>> print(to_java(parse_regex(r"v\d+|é?")))
    ^(?:v[0-9]+|\x{e9}?)\z
    """
    return rf"^(?:{_java(regex)})\z"


def _java(regex: Regex) -> str:
    if isinstance(regex, Chars):
        return _java_class(regex.ranges)
    if isinstance(regex, Repeat):
        item = _java(regex.item) if isinstance(regex.item, Chars) else f"(?:{_java(regex.item)})"
        return item + _java_count(regex.low, regex.high)
    if isinstance(regex, Alternation):
        return "|".join([_java(item) for item in regex.items])
    return "".join([f"(?:{_java(item)})" if isinstance(item, Alternation) else _java(item) for item in regex.items])


def _java_class(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _java_char(ranges[0][0])
    parts = [_java_char(low) + (f"-{_java_char(high)}" if high > low else "") for low, high in ranges]
    return f"[{''.join(parts)}]"


def _java_char(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else rf"\x{{{code:x}}}"


def _java_count(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    if (low, high) == (0, 1):
        return "?"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"
