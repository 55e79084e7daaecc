"""How semantic objects, values and contexts are read from text.

An object is `⟨Distance, 3850, {⟨Unit, "mile"⟩}⟩`, in ASCII `<Distance, 3850, {<Unit, "mile">}>`; a structured one has
a set of objects in place of a value. A value alone is `250(Scale = 1000, Period = 'first quarter'(Start = 'May'))`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import NamedTuple, NoReturn, TypeVar

from comity.errors import Misuse, Place
from comity.limits import limits
from comity.meaning.context import SemanticContext, SemanticValue, Simple
from comity.meaning.semantic import SemanticObject

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<time>\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?(?![\w.]))
      | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?(?![\w.]))
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<name>[^\W\d][\w.\-]*(?:[ ]+[^\W\d][\w.\-]*)*)
      | (?P<mark>[⟨⟩<>{}(),=])
    )""",
    re.X | re.S,
)
_OPEN, _CLOSE = ("⟨", "<"), ("⟩", ">")
_Read = TypeVar("_Read")


def parse_object(text: str) -> SemanticObject:
    """The semantic object that a text stands for.

    >>> parse_object('<Distance, 3.85, {<Unit, "mile">, <Scale, 1000>}>').value
    Fraction(77, 20)
    """
    return _whole(text, lambda reader: reader.object(0))


def parse_value(text: str) -> SemanticValue:
    """The semantic value that a text stands for.

    >>> parse_value("250(ScalingFactor = 1000, Currency = 'USD')").context["scale"].value
    Fraction(1000, 1)
    """
    return _whole(text, lambda reader: reader.value(0))


def parse_context(text: str) -> SemanticContext:
    """The context that a text stands for: `{⟨Unit, "km"⟩}`, or in YAML `{unit: km}`.

    >>> print(parse_context("{unit: km, scale: 1000}"))
    {⟨unit, "km"⟩, ⟨scale, 1000⟩}
    """
    if re.match(r"\s*\{\s*(?:[⟨<]|\}\s*$)", text):
        return _whole(text, lambda reader: reader.context(0))
    from comity.document import parse_document

    data = parse_document(text).data
    if not isinstance(data, dict):
        raise Misuse("this is no context", code="syntax", hint='write {unit: km}, or {⟨Unit, "km"⟩}')
    return SemanticContext.of(data)


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def _whole(text: str, read: Callable[[_Reader], _Read]) -> _Read:
    if len(text) > limits().max_filter_chars:
        raise Misuse(
            f"the text has more than {limits().max_filter_chars} characters",
            code="expression-too-long",
            hint="split it, or raise COMITY_MAX_FILTER_CHARS",
        )
    reader = _Reader(text)
    found = read(reader)
    if reader.next.kind != "end":
        reader.refuse("nothing more can stand here")
    return found


class _Reader:
    """Reads a text token by token; `next` is the one to come."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.next = self._token(0)

    def object(self, depth: int) -> SemanticObject:
        self._bound(depth)
        self._take(_OPEN, "an object begins with ⟨ or <")
        concept = self._name()
        self._take((",",), "a comma must stand between the concept and its value")
        value = self._members(depth) if self.next.text == "{" else self._simple()
        context = SemanticContext()
        if self.next.text == ",":
            self._advance()
            context = self.context(depth)
        self._take(_CLOSE, "an object ends with ⟩ or >")
        return SemanticObject(concept, value, context)

    def context(self, depth: int) -> SemanticContext:
        start = self.next
        members = self._list(depth, self.object)
        structured = next((one for one in members if isinstance(one.value, frozenset)), None)
        if structured is not None:
            self.next = start
            self.refuse(f"the property {structured.concept} has a structured value, a property's value is simple")
        return SemanticContext(tuple((one.concept, SemanticValue(one.value, one.context)) for one in members))  # type: ignore[arg-type]

    def value(self, depth: int) -> SemanticValue:
        self._bound(depth)
        value = self._simple()
        pairs: list[tuple[str, SemanticValue]] = []
        if self.next.text == "(":
            while self.next.text in ("(", ","):
                self._advance()
                pairs.append(self._assignment(depth))
            self._take((")",), "a comma or ) must stand here")
        return SemanticValue(value, SemanticContext(tuple(pairs)))

    def refuse(self, message: str, hint: str | None = None) -> NoReturn:
        before = self.text[: self.next.at]
        place = Place(line=before.count("\n") + 1, column=self.next.at - (before.rfind("\n") + 1) + 1)
        raise Misuse(message, code="syntax", place=place, hint=hint)

    def _assignment(self, depth: int) -> tuple[str, SemanticValue]:
        name = self._name()
        self._take(("=",), "= must stand behind the name of a property")
        return name, self.value(depth + 1)

    def _members(self, depth: int) -> frozenset[SemanticObject]:
        return frozenset(self._list(depth, self.object))

    def _list(self, depth: int, read: Callable[[int], _Read]) -> list[_Read]:
        self._take(("{",), "{ must stand here")
        found: list[_Read] = []
        while self.next.text != "}":
            if found:
                self._take((",",), "a comma or } must stand here")
            found.append(read(depth + 1))
        self._advance()
        return found

    def _simple(self) -> Simple:
        token = self.next
        if token.kind == "number":
            value: Simple = Fraction(token.text)
        elif token.kind == "text":
            value = re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.S)
        elif token.kind == "time":
            value = self._time(token.text)
        elif token.text in ("true", "false"):
            value = token.text == "true"
        else:
            self.refuse("a value must stand here", hint="a number, a text in quotes, true, false, or a time")
        self._advance()
        return value

    def _time(self, text: str) -> date | datetime:
        try:
            return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
        except ValueError:
            self.refuse(f"{text} is no time")

    def _name(self) -> str:
        if self.next.kind != "name":
            self.refuse("a name must stand here")
        return self._advance().text

    def _take(self, texts: tuple[str, ...], message: str) -> None:
        if self.next.kind != "mark" or self.next.text not in texts:
            self.refuse(message)
        self._advance()

    def _advance(self) -> _Token:
        token = self.next
        self.next = self._token(token.at + len(token.text))
        return token

    def _token(self, start: int) -> _Token:
        found = _TOKEN.match(self.text, start)
        if found is not None:
            kind = found.lastgroup or ""
            return _Token(kind, found[kind], found.start(kind))
        at = start + len(self.text[start:]) - len(self.text[start:].lstrip())
        return _Token("end", "", at) if at >= len(self.text) else _Token("other", self.text[at], at)

    def _bound(self, depth: int) -> None:
        if depth > limits().max_expression_depth:
            self.refuse(f"it is nested more than {limits().max_expression_depth} levels deep")
