"""Simple XPath as expressions: paths, texts, `concat`, `||`, `string`, `upper-case`, extension functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from comity.contract.mapping import Path
from comity.contract.xslt.form import ENVELOPE_PARTS
from comity.contract.xslt.run import FUNCTIONS_URI, Stylesheet
from comity.event.kinds import Kind
from comity.event.schemas.names import identifier
from comity.event.types import ENVELOPE_NAME, EventType
from comity.expression.simplify.known import always_present
from comity.expression.tree import Arithmetic, Attribute, Call, Expression, Extension, Literal

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?P<call>(?:[\w.-]+:)?[A-Za-z_][\w.-]*)\s*\(|(?P<join>\|\|)"
    r"|(?P<path>\.|(?:\./|/)?[A-Za-z_][\w.-]*(?:/[A-Za-z_][\w.-]*)*)|(?P<mark>[(),]))"
)
_TEXT_KINDS = frozenset({Kind.INT, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION, Kind.FLOAT})


class NotSimple(Exception):
    """Something that is left to the processor; the text says what."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A value, of which kind it is, and whether it is always there."""

    node: Expression
    kind: Kind
    present: bool

    def as_text(self) -> Expression:
        """What `xsl:value-of` writes: the text of the value, and the empty one for a missing value."""
        if self.kind is not Kind.STRING and self.kind not in _TEXT_KINDS:
            raise NotSimple(f"a {self.kind} becomes a text")
        text = self.node if self.kind is Kind.STRING else Call("text", (self.node,))
        return text if self.present else Call("coalesce", (text, Literal("")))


def selected(
    text: str, prefixes: Mapping[str | None, str], stylesheet: Stylesheet, source: EventType, context: Path
) -> Selected:
    """What an XPath expression selects of an event; raises `NotSimple`."""
    parser = _Parser(text, _tokens(text), prefixes, stylesheet, source, context)
    found = parser.joined()
    if parser.at < len(parser.tokens):
        raise parser.not_simple()
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise NotSimple(f"{text.strip()} is more than a path")
        tokens.append((found.lastgroup, found[found.lastgroup]))
        at = found.end()
    return tokens


@dataclass(slots=True)
class _Parser:
    text: str
    tokens: list[tuple[str, str]]
    prefixes: Mapping[str | None, str]
    stylesheet: Stylesheet
    source: EventType
    context: Path
    """The names before a path when the template stands above the event's element."""
    at: int = 0

    def not_simple(self) -> NotSimple:
        return NotSimple(f"{self.text.strip()} is more than paths, texts and concat")

    def joined(self) -> Selected:
        found = self.single()
        while self.peek() == ("join", "||"):
            self.at += 1
            found = _join(found, self.single())
        return found

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def single(self) -> Selected:
        group, text = self.peek()
        self.at += 1
        if group == "text":
            return Selected(Literal(text[1:-1].replace(text[0] * 2, text[0])), Kind.STRING, True)
        if group == "path":
            return self.path(text)
        if group == "call":
            return self.call(text, self.arguments())
        raise self.not_simple()

    def arguments(self) -> list[Selected]:
        found: list[Selected] = []
        if self.peek() == ("mark", ")"):
            self.at += 1
            return found
        while True:
            found.append(self.joined())
            mark = self.peek()
            self.at += 1
            if mark == ("mark", ")"):
                return found
            if mark != ("mark", ","):
                raise self.not_simple()

    def path(self, text: str) -> Selected:
        root = identifier(self.source.name)
        names = text.removeprefix("./").removeprefix("/").split("/")
        if text.startswith("/") or self.context:
            if names[0] != root:
                raise NotSimple(f"{text} is not in the event")
            names = names[1:]
        path = self._known(tuple(names)) if names and names != ["."] else None
        declared = self.source.attribute_at(path) if path else None
        if path is None or declared is None or declared.kind in (Kind.STRUCT, Kind.LIST, Kind.POINT):
            raise NotSimple(f"{text} is no single value of {self.source.name}")
        return Selected(Attribute(path), declared.kind, always_present(Attribute(path), self.source))

    def _known(self, names: Path) -> Path | None:
        """The path of the attribute whose elements have these names."""
        for name, part in ENVELOPE_PARTS.items():
            if names == (part,) and part not in self.source.attributes:
                return (ENVELOPE_NAME, name)
        path: Path = ()
        attributes = self.source.attributes
        for element in names:
            found = next((name for name in attributes if identifier(name) == element), None)
            if found is None:
                return None
            path, attributes = (*path, found), attributes[found].attributes
        return path

    def call(self, name: str, arguments: list[Selected]) -> Selected:
        if name == "concat" and len(arguments) >= 2:
            first, *rest = arguments
            for one in rest:
                first = _join(first, one)
            return first
        if name == "string" and len(arguments) == 1:
            return Selected(arguments[0].as_text(), Kind.STRING, True)
        if name == "upper-case" and len(arguments) == 1:
            return Selected(Call("upper", (arguments[0].as_text(),)), Kind.STRING, True)
        prefix, _, local = name.rpartition(":")
        if self.prefixes.get(prefix or None) != FUNCTIONS_URI or not prefix:
            raise NotSimple(f"{name}() is computed by the processor")
        return self.extension(local, arguments)

    def extension(self, name: str, arguments: list[Selected]) -> Selected:
        function = next((one for one in self.stylesheet.functions if one.name == name), None)
        if function is None or len(function.takes) != len(arguments):
            raise self.not_simple()
        if any(one.kind not in kinds for one, kinds in zip(arguments, function.takes, strict=True)):
            raise NotSimple(f"{name}() takes other kinds, so texts are converted")
        if any(Kind.STRING in kinds and len(kinds) > 1 for kinds in function.takes):
            raise NotSimple(f"{name}() takes several kinds, and gets a text")
        return Selected(Extension(name, function, tuple(one.node for one in arguments)), function.gives, False)


def _join(left: Selected, right: Selected) -> Selected:
    return Selected(Arithmetic("+", left.as_text(), right.as_text()), Kind.STRING, True)
