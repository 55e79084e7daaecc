"""Extension functions: functions of the expression language that a contract or an installed package brings.

A Python file beside a contract marks them with `@comity.extension(…)`. The file is run, but never becomes a module that
others can import, so two contracts may have files of the same name; what goes to the workers of Spark is its text.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from comity.errors import Misuse, Permanent, Place
from comity.event.kinds import Kind, Point, Value, in_range, kind_of, to_microseconds
from comity.expression.functions import FUNCTIONS, LANGUAGE_FORMS
from comity.limits import limits

GROUP = "comity.functions"
"""The group of entry points of plugins: the name is the function's, the object is marked with `extension`."""

Order = Literal["rising", "falling"]
_MARK = "__comity_extension__"
_GIVEN = frozenset(Kind) - {Kind.STRUCT, Kind.LIST}
_KINDS: Mapping[str, frozenset[Kind]] = {
    **{kind.value: frozenset({kind}) for kind in Kind},
    "number": frozenset({Kind.INT, Kind.FLOAT}),
    "any": frozenset(Kind),
}


@dataclass(frozen=True, slots=True)
class ExtensionFunction:
    """A function that is not built in, and what its author says of it. Two with one `name` and `key` are the same."""

    name: str
    takes: tuple[frozenset[Kind], ...] = field(compare=False)
    gives: Kind = field(compare=False)
    body: Callable[..., Any] = field(compare=False, repr=False)
    key: str = ""
    """What tells it from another function of the name: where it comes from, and in which state."""
    total: bool = field(default=False, compare=False)
    """Whether it has a result for all values of the kinds that it takes."""
    lossless: bool = field(default=False, compare=False)
    """Whether different arguments give different results."""
    order: Order | None = field(default=None, compare=False)
    """Whether larger arguments give larger or equal results, or smaller or equal ones."""
    inverse: str | None = field(default=None, compare=False)
    """The function that leads back."""
    pure: bool = field(default=True, compare=False)
    """Whether it always gives the same for the same arguments, so that it can be computed ahead."""
    takes_missing: bool = field(default=False, compare=False)
    """Whether it is called, with None, when an argument is missing."""
    source: tuple[str, str] | None = field(default=None, compare=False, repr=False)
    """Name and text of the file that it was read from."""

    def call(self, arguments: tuple[Value, ...]) -> Value | None:
        """The result; None when an argument is missing or of another kind, or the body fails or gives another kind."""
        if len(arguments) != len(self.takes):
            return None
        for value, kinds in zip(arguments, self.takes, strict=True):
            if (value is not None or not self.takes_missing) and kind_of(value) not in kinds:
                return None
        try:
            return _fitting(self.body(*map(_plain, arguments)), self.gives)
        except (Exception, SystemExit):  # the body may fail in any way; then there is no result
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.source is None:
            return _made, (self.name, self.takes, self.gives, self.body, self.key, *self._said())
        return _read_again, (*self.source, self.name)

    def _said(self) -> tuple[Any, ...]:
        return self.total, self.lossless, self.order, self.inverse, self.pure, self.takes_missing


def _made(*parts: Any) -> ExtensionFunction:
    return ExtensionFunction(*parts)


def _read_again(file: str, text: str, name: str) -> ExtensionFunction:
    return _functions_in(file, text)[name]


def _plain(value: Value) -> Value:
    """The value with one zero only: nothing in the language tells the two of them apart."""
    return 0.0 if type(value) is float and value == 0 else value


def _fitting(value: Any, kind: Kind) -> Value | None:
    """The result as a value of the kind, None when it is none."""
    if kind is Kind.FLOAT and kind_of(value) is Kind.INT:
        value = float(value)
    if kind_of(value) is not kind or not _FITS.get(kind, lambda one: True)(value):
        return None
    return value.astimezone(UTC) if isinstance(value, datetime) else _plain(value)


def _is_text(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _is_span(value: timedelta) -> bool:
    return in_range(to_microseconds(value))


def _is_place(value: Point) -> bool:
    return all(type(part) is float and math.isfinite(part) for part in value)


_FITS: Mapping[Kind, Callable[[Any], bool]] = {
    Kind.INT: in_range,
    Kind.FLOAT: in_range,
    Kind.STRING: _is_text,
    Kind.TIMESTAMP: lambda value: value.tzinfo is not None,
    Kind.DURATION: _is_span,
    Kind.POINT: _is_place,
}


Body = TypeVar("Body", bound=Callable[..., Any])


def extension(
    *,
    takes: tuple[str, ...],
    gives: str,
    name: str | None = None,
    total: bool = False,
    lossless: bool = False,
    order: Order | None = None,
    inverse: str | None = None,
    pure: bool = True,
    takes_missing: bool = False,
) -> Callable[[Body], Body]:
    """Mark a Python function as one for expressions; kinds are named as in types, several joined by `or`.

    Values come as bool, int, float, str, datetime (UTC), timedelta, bytes or Point. What it raises is a missing result.

    >>> @extension(takes=("int or float",), gives="float", total=True, order="rising")
    ... def half(number):
    ...     return number / 2
    >>> function_of(half).call((5,)), half(5)
    (2.5, 2.5)
    """

    def marked(body: Body) -> Body:
        made = ExtensionFunction(
            name or body.__name__,
            tuple(_kinds(one) for one in (takes if isinstance(takes, tuple | list) else (takes,))),
            _given(gives),
            body,
            f"{body.__module__}:{body.__qualname__}",
            *(total, lossless, order, inverse, pure, takes_missing),
        )
        _check(made)
        setattr(body, _MARK, made)
        return body

    return marked


def function_of(thing: object) -> ExtensionFunction | None:
    """The extension function that an object is, or is marked as; None when it is neither."""
    found = thing if isinstance(thing, ExtensionFunction) else getattr(thing, _MARK, None)
    return found if isinstance(found, ExtensionFunction) else None


def load_functions(path: Path) -> dict[str, ExtensionFunction]:
    """The functions that a Python file marks, by name; `Misuse` with the line when it cannot be run or used."""
    if not path.is_file():
        raise Misuse("there is no such file", code="no-such-file", place=Place(file=str(path)))
    bound = limits().max_file_bytes
    raw = path.read_bytes()
    if len(raw) > bound:
        raise _unusable(path.name, f"it has more than {bound:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Misuse("it is not UTF-8", code="bad-functions", place=Place(file=str(path), line=line)) from None
    return dict(_functions_in(str(path), text))


def installed_functions() -> dict[str, ExtensionFunction]:
    """The functions that installed packages bring, by name."""
    from importlib.metadata import entry_points  # it takes longer to import than all the rest

    found: dict[str, ExtensionFunction] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            function = function_of(point.load())
        except Exception as error:  # the code of a plugin may fail in any way
            raise _broken(point.name, f"cannot be loaded: {error}", point.value) from error
        if function is None:
            raise _broken(point.name, "is not marked with comity.extension", point.value)
        found[point.name] = replace(function, name=point.name, key=point.value)
    return found


def _broken(name: str, reason: str, value: str) -> Permanent:
    return Permanent(f"the installed function `{name}` {reason}", code="broken-function", hint=f"it is {value}")


@lru_cache(maxsize=64)
def _functions_in(file: str, text: str) -> Mapping[str, ExtensionFunction]:
    names = _run(file, text)
    key = hashlib.sha256(text.encode()).hexdigest()
    marked = [one for thing in names.values() if (one := function_of(thing)) is not None]
    found = {one.name: replace(one, key=key, source=(file, text)) for one in marked}
    if not found:
        raise _unusable(file, "it marks no function", hint="put @comity.extension(takes=…, gives=…) before one")
    for function in found.values():
        _check_inverse(function, found, file)
    return found


def _run(file: str, text: str) -> dict[str, Any]:
    """What the file defines once it is run."""
    module = types.ModuleType("comity_functions")
    module.__file__ = file
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except SyntaxError as error:
        place = Place(file=file, line=error.lineno, column=error.offset)
        raise Misuse(f"it is not Python: {error.msg}", code="bad-functions", place=place) from None
    except Misuse as error:
        place = Place(file=file, line=_line(error, file))
        raise Misuse(error.message, code=error.code, place=place, hint=error.hint) from None
    except (Exception, SystemExit) as error:  # its code may fail in any way
        place = Place(file=file, line=_line(error, file))
        message = f"it cannot be run: {type(error).__name__}: {error}"
        raise Misuse(message, code="bad-functions", place=place) from None
    return module.__dict__


def _line(error: BaseException, file: str) -> int | None:
    """The last line of the file that the error came through."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


# What may be marked


def _kinds(text: str) -> frozenset[Kind]:
    names = [name.strip() for name in str(text).split(" or ")]
    unknown = next((name for name in names if name not in _KINDS), None)
    if unknown is not None:
        raise _misused(f"`takes` names no kind {unknown!r}", f"known: {', '.join(sorted(_KINDS))}")
    return frozenset[Kind]().union(*(_KINDS[name] for name in names))


def _given(text: str) -> Kind:
    names = {kind.value: kind for kind in _GIVEN}
    if text not in names:
        raise _misused(f"`gives` names no kind {text!r} of single values", f"known: {', '.join(sorted(names))}")
    return names[text]


def _check(function: ExtensionFunction) -> None:
    if not function.name.isidentifier() or function.name in FUNCTIONS or function.name in LANGUAGE_FORMS:
        raise _misused(f"{function.name!r} cannot be the name of a function", "it is taken, or no name at all")
    if function.order not in (None, "rising", "falling"):
        raise _misused(f"`order` is rising, falling or None, not {function.order!r}")
    if (function.order or function.inverse) and len(function.takes) != 1:
        raise _misused(f"{function.name} takes {len(function.takes)} arguments, so it has no order and no inverse")
    try:
        inspect.signature(function.body).bind(*function.takes)
    except TypeError:
        raise _misused(
            f"{function.name} cannot be called with {len(function.takes)} arguments, as `takes` says"
        ) from None


def _check_inverse(function: ExtensionFunction, known: Mapping[str, ExtensionFunction], file: str) -> None:
    if function.inverse is None:
        return
    back = known.get(function.inverse)
    if (
        back is None
        or len(back.takes) != 1
        or function.gives not in back.takes[0]
        or back.gives not in function.takes[0]
    ):
        reason = f"the inverse of {function.name}, {function.inverse}, is not in the file, or does not lead back"
        line = getattr(getattr(function.body, "__code__", None), "co_firstlineno", None)
        raise Misuse(reason, code="bad-functions", place=Place(file=file, line=line))


def _misused(message: str, hint: str | None = None) -> Misuse:
    return Misuse(message, code="bad-functions", hint=hint)


def _unusable(file: str, reason: str, hint: str | None = None) -> Misuse:
    return Misuse(reason, code="bad-functions", place=Place(file=file), hint=hint)
