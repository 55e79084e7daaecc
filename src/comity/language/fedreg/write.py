"""Filters as FedReg subscriptions, as far as the language has words for them.

What it cannot say is left out with its reason, so that the subscription asks for too much and never for too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta
from typing import Any

from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.event.kinds import Kind, kind_of
from comity.event.schemas.names import ENVELOPE_WORDS
from comity.event.times import format_timestamp
from comity.event.types import ENVELOPE_NAME, AttributeType, EventType
from comity.expression.like import Wildcard, like_tokens
from comity.expression.parse import as_filter
from comity.expression.tree import (
    FALSE,
    MIRRORED,
    TRUE,
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    Extension,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Or,
    Quantity,
    TextTest,
    attributes,
    walk,
)
from comity.language.fedreg.values import escaped_text, quoted, value_text
from comity.language.fedreg.words import FEDREG_URI, PRIORITIES
from comity.language.language import PrintedProfiles
from comity.language.reasons import Reason, reason
from comity.profile.profile import Profile
from comity.profile.terms import Terms, clock_text

Path = tuple[str, ...]
Template = dict[Path, list[str]]
"""By attribute, filters of which all must hold."""

MOST_TEMPLATES = 32
_NO_CONTEXT = "FedReg has no words for the context of what is delivered."
_COMPLEMENT = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_REGEX_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\]")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_fedreg(profiles: Iterable[Profile], types: Mapping[str, EventType]) -> PrintedProfiles:
    """Profiles as one subscription; `types` has the type of each by the name in `on`.

    A filter with `or` between attributes becomes several templates, of which one must match. There are no patterns.
    """
    root = etree.Element(f"{{{FEDREG_URI}}}Subscription", nsmap={"xce": FEDREG_URI})
    left: list[Reason] = []
    for one in profiles:
        if one.composite is not None or one.on is None:
            left.append(Reason("no-patterns", one.name))
            continue
        printer = _Printer(types[one.on])
        for template in printer.templates(_pushed(as_filter(one.where.tree), printer)) or [printer.never()]:
            _add_template(root, one.on, types[one.on], template, one.terms, printer.contents)
        if one.terms.deliver:
            left.append(Reason("no-delivery-context", f"deliver of {one.name}", _NO_CONTEXT))
        left += [found for found in printer.left if found not in left]
    etree.indent(root)
    return PrintedProfiles(str(etree.tostring(root, encoding="unicode", pretty_print=True)), tuple(left))


def _add_template(
    root: Any, on: str, type: EventType, template: Template, terms: Terms, contents: Mapping[str, str]
) -> None:
    node = etree.SubElement(root, f"{{{FEDREG_URI}}}Template", {"type": on})
    for kind, text in _meta(terms):
        etree.SubElement(node, f"{{{FEDREG_URI}}}meta", {"type": kind}).text = text
    for word, part in ENVELOPE_WORDS.items():
        if (ENVELOPE_NAME, part) in template:
            _add_parameter(node, word, template[(ENVELOPE_NAME, part)], contents)
    _add_parameters(node, type.attributes, template, (), contents)


def _add_parameters(
    node: Any, attributes: Mapping[str, AttributeType], template: Template, above: Path, contents: Mapping[str, str]
) -> None:
    for name, declared in attributes.items():
        path = (*above, name)
        if declared.attributes:
            _add_parameters(etree.SubElement(node, name), declared.attributes, template, path, contents)
        else:
            _add_parameter(node, name, template.get(path, []), contents)


def _add_parameter(node: Any, name: str, filters: list[str], contents: Mapping[str, str]) -> None:
    """An element with the value itself where it is one, with any value where nothing is asked, or with a filter."""
    element = etree.SubElement(node, name)
    value = contents.get(filters[0]) or _content(filters[0]) if len(filters) == 1 else None
    if not filters:
        element.text = "*"
    elif value is not None:
        element.text = value
    else:
        joined = filters[0] if len(filters) == 1 else " && ".join(_grouped(one) for one in filters)
        element.set(f"{{{FEDREG_URI}}}filter", joined)


def _grouped(text: str) -> str:
    return f"({text})" if "||" in text else text


def _content(filter: str) -> str | None:
    """The text of an element that asks the same as a filter `= value`."""
    if not filter.startswith("= "):
        return None
    value = filter[2:]
    if re.fullmatch(r"'(?:[^']|'')*'", value):
        plain = value[1:-1].replace("''", "'")
        return escaped_text(plain) if plain and plain == plain.strip() else None
    return value if re.fullmatch(r"[^\s'\"<>=!~&|(),]+", value) else None


def _meta(terms: Terms) -> Iterable[tuple[str, str]]:
    if terms.active is not None:
        yield "disposal", clock_text(terms.active[1])
        yield "register", clock_text(terms.active[0])
    if terms.expires is not None:
        yield "disposal", format_timestamp(terms.expires)
    if terms.priority:
        words = {number: word for word, number in PRIORITIES.items()}
        yield "qos", words.get(terms.priority, str(terms.priority))
    if terms.scope:
        yield "scope", " ".join(terms.scope)


@dataclass(slots=True)
class _Printer:
    type: EventType
    left: list[Reason] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)
    """By filter, the text with wildcards that asks the same."""

    def templates(self, node: Expression) -> list[Template]:
        """Templates of which one matches where the filter holds."""
        if node in (TRUE, FALSE):
            return [{}] if node == TRUE else []
        path = self._single(node)
        text = self._filter(node, path) if path is not None else None
        if path is not None and text is not None:
            return [{path: [text]}]
        if isinstance(node, And):
            return self._product(node)
        if isinstance(node, Or):
            return self._bounded([one for item in node.items for one in self.templates(item)], node)
        self.left.append(self._why(node))
        return [{}]

    def never(self) -> Template:
        """The template of what never matches, which the language cannot say."""
        self.left.append(reason("operator-not-supported", FALSE))
        return {}

    def _product(self, node: And) -> list[Template]:
        found: list[Template] = [{}]
        for item in node.items:
            inner = self.templates(item)
            if len(found) * len(inner) > MOST_TEMPLATES:
                self.left.append(reason("too-many-terms", item))
                continue
            found = [_merged(one, other) for one in found for other in inner]
        return found

    def _bounded(self, found: list[Template], node: Expression) -> list[Template]:
        if len(found) <= MOST_TEMPLATES:
            return found
        self.left.append(reason("too-many-terms", node))
        return [{}]

    def _single(self, node: Expression) -> Path | None:
        """The one attribute that a filter is about, if a template can name it."""
        paths = attributes(node)
        if len(paths) != 1:
            return None
        (path,) = paths
        if path[0] == ENVELOPE_NAME:
            words = {part: word for word, part in ENVELOPE_WORDS.items()}
            return path if path[1] in words and words[path[1]] not in self.type.attributes else None
        return path if self.kind(path) not in (None, Kind.LIST, Kind.STRUCT, Kind.POINT) else None

    def kind(self, path: Path) -> Kind | None:
        declared = self.type.attribute_at(path)
        steps = [self.type.attribute_at(path[:end]) for end in range(1, len(path))]
        inside_point = path[0] != ENVELOPE_NAME and any(one is not None and one.kind is Kind.POINT for one in steps)
        return declared.kind if declared is not None and not inside_point else None

    def _filter(self, node: Expression, path: Path) -> str | None:
        """The filter on an attribute, None when the language does not have it."""
        match node:
            case And(items):
                return self._joined(items, " && ", path, True)
            case Or(items):
                return self._joined(items, " || ", path, False)
            case Compare(symbol, left, right):
                return self._compare(symbol, left, right, path)
            case Between(operand, low, high, negated) if operand == Attribute(path):
                ends = [self._value(low, path), self._value(high, path)]
                shape = "< {} || > {}" if negated else ">= {} && <= {}"
                return shape.format(*ends) if None not in ends else None
            case In(operand, items, negated) if operand == Attribute(path):
                values = [self._value(item, path) for item in items]
                sign, symbol = (" && ", "!=") if negated else (" || ", "=")
                return sign.join(f"{symbol} {value}" for value in values) if None not in values else None
            case TextTest(test, Attribute(_), text, negated) if self.kind(path) is Kind.STRING:
                return self._text_test(test, text, negated)
            case Exists() if self.kind(path) is Kind.STRING:
                return "~ '(?s).*'"
        return None

    def _text_test(self, test: str, text: str, negated: bool) -> str | None:
        filter = f"{'!~' if negated else '~'} {quoted(_regex(test, text))}"
        if _NOT_IN_XML.search(filter):
            return None
        content = _wildcards(test, text)
        if content is not None and not negated:
            self.contents[filter] = content
        return filter

    def _joined(self, items: tuple[Expression, ...], sign: str, path: Path, grouped: bool) -> str | None:
        texts = [self._filter(item, path) for item in items]
        if any(text is None for text in texts):
            return None
        return sign.join(_grouped(str(text)) if grouped else str(text) for text in texts)

    def _compare(self, symbol: str, left: Expression, right: Expression, path: Path) -> str | None:
        if isinstance(left, Literal | Quantity):
            return self._compare(MIRRORED[symbol], right, left, path)
        if left == Attribute(path):
            value = self._value(right, path)
            return f"{symbol} {value}" if value is not None else None
        if left == Call("time_of_day", (Attribute(path),)) and isinstance(right, Literal):
            moment = _clock(right.value)
            return f"{symbol} {clock_text(moment)}" if moment is not None else None
        if symbol == "=" and right == TRUE and isinstance(left, Call | Extension):
            return _call(left, path)
        return None

    def _value(self, node: Expression, path: Path) -> str | None:
        kind = self.kind(path)
        text = value_text(node, kind) if kind is not None else None
        return text if text is not None and _NOT_IN_XML.search(text) is None else None

    def _why(self, node: Expression) -> Reason:
        """The reason why the language cannot say a filter."""
        if isinstance(node, Not):
            return reason("missing-value-semantics", node)
        if isinstance(node, IsType):
            return reason("operator-not-supported", node)
        if len(attributes(node)) > 1:
            return reason("attribute-against-attribute", node)
        if any(isinstance(part, Arithmetic | Negative) for part in walk(node)):
            return reason("no-arithmetic", node)
        if any(isinstance(part, Call | Extension | Conditional | Lookup) for part in walk(node)):
            return reason("function-not-supported", node)
        if self._single(node) is None:
            return reason("attribute-not-visible", node)
        return reason("operator-not-supported" if isinstance(node, Exists) else "kind-not-supported", node)


def _merged(one: Template, other: Template) -> Template:
    return {path: [*one.get(path, []), *other.get(path, [])] for path in {**one, **other}}


def _pushed(node: Expression, printer: _Printer, negated: bool = False) -> Expression:
    """The filter with `not` at its tests, and within them where the attribute is always there."""
    match node:
        case Not(item):
            return _pushed(item, printer, not negated)
        case And(items) | Or(items):
            inner = tuple(_pushed(item, printer, negated) for item in items)
            return And(inner) if isinstance(node, And) is not negated else Or(inner)
        case Literal(bool(value)):
            return Literal(value is not negated)
        case Exists(Attribute(path)) if _is_mandatory(path, printer.type):
            return Literal(not negated)
    return _complement(node, printer) if negated else node


def _complement(node: Expression, printer: _Printer) -> Expression:
    match node:
        case Compare(symbol, Attribute(path), Literal() | Quantity()) if _is_mandatory(path, printer.type):
            return Compare(_COMPLEMENT[symbol], node.left, node.right)
        case Between(Attribute(path), Literal() | Quantity(), Literal() | Quantity(), negated) if _is_mandatory(
            path, printer.type
        ):
            return Between(node.operand, node.low, node.high, not negated)
        case In(Attribute(path), items, negated) if _is_mandatory(path, printer.type):
            return In(node.operand, items, not negated)
        case TextTest(test, Attribute(path), text, negated) if _is_mandatory(path, printer.type):
            return TextTest(test, node.operand, text, not negated)
    return Not(node)


def _is_mandatory(path: Path, type: EventType) -> bool:
    if path[0] == ENVELOPE_NAME:
        return path[1] in ("id", "source", "type")
    declared = type.attribute_at(path)
    return declared is not None and not declared.optional


def _clock(span: object) -> time | None:
    if not isinstance(span, timedelta) or not timedelta() <= span < timedelta(days=1):
        return None
    seconds, micros = span.seconds, span.microseconds
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)


def _call(node: Call | Extension, path: Path) -> str | None:
    """A function of the attribute that says yes or no."""
    name = node.function if isinstance(node, Call) else node.name
    first, *rest = node.arguments
    texts = [value_text(one, _kind_of(one)) for one in rest]
    if first != Attribute(path) or None in texts:
        return None
    return f"{name}({', '.join(map(str, texts))})"


def _kind_of(node: Expression) -> Kind:
    return (kind_of(node.value) if isinstance(node, Literal) else None) or Kind.STRUCT


def _regex(test: str, text: str) -> str:
    if test == "matches":
        return text
    tokens = like_tokens(text) if test == "like" else ()
    any_run = "(?s:.*)"
    if test == "like":
        parts = {Wildcard.ONE: "(?s:.)", Wildcard.RUN: any_run}
        return "".join(_literal(token) if isinstance(token, str) else parts[token] for token in tokens)
    before = "" if test == "starts with" else any_run
    after = "" if test == "ends with" else any_run
    return f"{before}{_literal(text)}{after}"


def _wildcards(test: str, text: str) -> str | None:
    """The text with `*` that asks the same, None when there is none: spaces at its ends would not be read."""
    if test == "matches":
        return None
    tokens = like_tokens(text) if test == "like" else (text,)
    if Wildcard.ONE in tokens:
        return None
    found = "".join(escaped_text(token) if isinstance(token, str) else "*" for token in tokens)
    found = ("" if test in ("like", "starts with") else "*") + found + ("" if test in ("like", "ends with") else "*")
    return found if found == found.strip() and found.strip("*") else None


def _literal(text: str) -> str:
    return _REGEX_SPECIAL.sub(r"\\\g<0>", text)
