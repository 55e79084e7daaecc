"""FedReg subscriptions from XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from comity.document import did_you_mean
from comity.errors import ComityError, Misuse, Place
from comity.event.kinds import Kind
from comity.event.schemas.names import ENVELOPE_WORDS, identifier
from comity.event.schemas.xml_text import parse_xml
from comity.event.types import ENVELOPE_NAME, AttributeType, EventType
from comity.expression.parse import Parsed
from comity.expression.render import render
from comity.expression.tree import Attribute, Expression, conjunction
from comity.language.fedreg.filters import parse_filter
from comity.language.fedreg.meta import read_meta
from comity.language.fedreg.values import comparison, plain_text, with_wildcards
from comity.language.fedreg.words import FEDREG_URI
from comity.language.language import Reading, Types
from comity.profile.profile import Profile

Path = tuple[str, ...]

_FILTER = re.compile(r"""(\bfilter\s*=\s*)("[^"]*"|'[^']*')""")
_BARE_AMPERSAND = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#[0-9]+|#x[0-9A-Fa-f]+);)")
_ROOT = re.compile(r"<(?:(?P<prefix>[\w.-]+):)?Subscription\b")


def scan_fedreg(text: str, file: str, types: Types | None) -> Reading:
    """The templates of a file as profiles, whose names begin with that of the file; or what is wrong with it."""
    try:
        return read_fedreg(text, types, name=identifier(PurePath(file).stem), file=file), []
    except Misuse as error:
        return [], [error]


def read_fedreg(
    text: str,
    types: Types | None = None,
    *,
    name: str | None = None,
    registered: datetime | None = None,
    file: str | None = None,
) -> list[Profile]:
    """The templates of a subscription as profiles; `Misuse` with the place where it is wrong.

    Without types values mean what they look like. The first template has the given name, or that of its type, the
    others a number behind it.

    >>> text = '<xce:Subscription><xce:Template type="Entry"><room>111</room></xce:Template></xce:Subscription>'
    >>> read_fedreg(text)[0].where.text
    "room in (111, '111')"
    """
    root = parse_xml(_as_xml(text), file)
    if root.tag != f"{{{FEDREG_URI}}}Subscription":
        hint = f'<Subscription xmlns="{FEDREG_URI}">'
        raise Misuse("this is no subscription of FedReg", code="bad-fedreg", place=Place(file, 1), hint=hint)
    templates = list(_elements(root))
    if not templates:
        raise Misuse("there is no template in it", code="bad-fedreg", place=Place(file, root.sourceline))
    found: list[Profile] = []
    for template in templates:
        if template.tag != f"{{{FEDREG_URI}}}Template":
            raise _Reader(file, types).error(template, f"<{_local(template)}> does not belong here", "write <Template>")
        base = name or identifier(template.get("type") or "").lower()
        number = 1 + sum(1 for one in found if re.fullmatch(rf"{re.escape(base)}(?:_\d+)?", one.name))
        named = base if number == 1 else f"{base}_{number}"
        found.append(_Reader(file, types).template(template, named, registered))
    return found


def _as_xml(text: str) -> str:
    """The text as XML even where it is printed as in the seeds: with bare `<` and `&` in filters, and no namespace."""

    def escaped(found: re.Match[str]) -> str:
        return found[1] + _BARE_AMPERSAND.sub("&amp;", found[2]).replace("<", "&lt;")

    text = _FILTER.sub(escaped, text)
    root = _ROOT.search(text)
    if root is not None and FEDREG_URI not in text:
        declared = f' xmlns:{root["prefix"]}="{FEDREG_URI}"' if root["prefix"] else f' xmlns="{FEDREG_URI}"'
        text = text[: root.end()] + declared + text[root.end() :]
    return text


def _elements(node: Any) -> Iterator[Any]:
    return (one for one in node if isinstance(one.tag, str))


def _local(node: Any) -> str:
    return str(node.tag).rpartition("}")[2]


def _text(node: Any) -> str:
    return "".join([node.text or "", *(one.tail or "" for one in node)]).strip()


@dataclass(slots=True)
class _Reader:
    file: str | None
    types: Types | None

    def error(self, node: Any, message: str, hint: str | None = None, code: str = "bad-fedreg") -> Misuse:
        return Misuse(message, code=code, place=Place(self.file, node.sourceline), hint=hint)

    def placed(self, node: Any, error: ComityError, path: Path = ()) -> Misuse:
        """The error at an element, with what it shows of the filter's text."""
        place = Place(self.file, node.sourceline, path=".".join(path) or None)
        return Misuse(error.message, code=error.code, place=place, hint=error.hint, excerpt=error.excerpt)

    def template(self, node: Any, name: str, registered: datetime | None) -> Profile:
        on = (node.get("type") or "").strip()
        if not on:
            raise self.error(node, "the template does not say its type", 'write <Template type="GPSEvent">')
        on, type = self._type(node, on)
        metas: list[Any] = []
        parameters: list[Any] = []
        for one in _elements(node):
            (metas if one.tag == f"{{{FEDREG_URI}}}meta" else parameters).append(one)
        try:
            terms = read_meta([(one.get("type") or "", _text(one)) for one in metas], registered)
        except Misuse as error:
            raise self.placed(metas[0], error) from None
        tests = [test for one in parameters for test in self.parameter(one, type, ())]
        where = conjunction(tests)
        place = Place(self.file, node.sourceline)

        def locate(error: ComityError, part: str) -> ComityError:
            return self.placed(node, error)

        return Profile(name, Parsed(where, render(where)), on, None, place, locate, terms=terms)

    def _type(self, node: Any, on: str) -> tuple[str, EventType | None]:
        """The type of a name, and its name in a profile; that of a contract may lack the contract's name."""
        if self.types is None:
            return identifier(on), None
        if on in self.types:
            return on, self.types[on]
        named = [known for known, type in self.types.items() if on == type.qualified_name or known == identifier(on)]
        found = named or [known for known in self.types if known.rpartition(".")[2] in (on, identifier(on))]
        if len(found) == 1:
            return found[0], self.types[found[0]]
        hint = f"it can be {' or '.join(found)}" if found else f"known: {', '.join(self.types)}"
        message = f"there are several event types {on!r}" if found else f"there is no event type {on!r}"
        raise self.error(node, message, hint, "ambiguous-type" if found else "unknown-type")

    def parameter(self, node: Any, type: EventType | None, above: Path) -> Iterator[Expression]:
        """What an element asks of an attribute."""
        path, declared = self._declared(node, type, above)
        inner = list(_elements(node))
        self._check_attributes(node)
        if inner and (declared is None or declared.kind is Kind.STRUCT):
            if _text(node):
                raise self.error(node, f"<{_local(node)}> has a text beside elements", "leave one of them out")
            for one in inner:
                yield from self.parameter(one, type, path)
            return
        if inner:
            raise self.error(node, f"{'.'.join(path)} is no struct", "leave the elements in it out", "wrong-kind")
        filter = node.get(f"{{{FEDREG_URI}}}filter") or node.get("filter")
        try:
            yield from _of_content(_text(node), Attribute(path), declared)
            if filter is not None and filter.strip():
                yield parse_filter(filter, Attribute(path), declared)
        except Misuse as error:
            raise self.placed(node, error, path) from None

    def _check_attributes(self, node: Any) -> None:
        for name in node.attrib:
            if name not in ("filter", f"{{{FEDREG_URI}}}filter"):
                shown = str(name).rpartition("}")[2]
                raise self.error(node, f"<{_local(node)}> has an attribute {shown!r}", "an attribute can have `filter`")

    def _declared(self, node: Any, type: EventType | None, above: Path) -> tuple[Path, AttributeType | None]:
        """The attribute that an element is about: of the type, or of the envelope."""
        name = _local(node)
        if type is None:
            return self._open(name, above), None
        known = _inside(type, above)
        for one in (name, identifier(name)):
            if one in known:
                return (*above, one), known[one]
        if not above and name in ENVELOPE_WORDS:
            envelope = (ENVELOPE_NAME, ENVELOPE_WORDS[name])
            return envelope, type.attribute_at(envelope)
        hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
        path = (*above, name)
        message = f"{type.name} has no attribute {'.'.join(path)!r}"
        raise self.placed(node, Misuse(message, code="unknown-attribute", hint=hint), path)

    def _open(self, name: str, above: Path) -> Path:
        return (
            (ENVELOPE_NAME, ENVELOPE_WORDS[name])
            if not above and name in ENVELOPE_WORDS
            else (*above, identifier(name))
        )


def _inside(type: EventType, above: Path) -> Mapping[str, AttributeType]:
    if not above:
        return type.attributes
    declared = type.attribute_at(above)
    return declared.attributes if declared is not None else {}


def _of_content(text: str, attribute: Attribute, declared: AttributeType | None) -> Iterator[Expression]:
    """What the text of an element asks: nothing, a value, or a text with wildcards."""
    if text in ("", "*"):
        return
    is_text = declared is None or declared.kind is Kind.STRING
    pattern = with_wildcards(attribute, text) if is_text else None
    if pattern is not None:
        yield pattern
        return
    yield comparison(attribute, declared, "=", plain_text(text) if is_text else text, False)
