"""Stylesheets that only name, join and look at values: what they put into each attribute, as expressions.

An attribute whose element holds `xsl:value-of`, `xsl:text` and texts is understood where the expressions are paths,
texts, `concat`, `||`, `string`, `upper-case` and calls of extension functions. Anything else is left to the processor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comity.contract.mapping import Path
from comity.contract.xslt.form import ENVELOPE_PARTS, local_name, value_of
from comity.contract.xslt.run import XSL, Stylesheet
from comity.contract.xslt.select import NotSimple, Selected, selected
from comity.event.kinds import Kind
from comity.event.schemas.names import identifier
from comity.event.types import AttributeType, EventType
from comity.expression.tree import Arithmetic, Call, Expression, Literal

_DECLARATIONS = frozenset({"output", "template"})


@dataclass(slots=True)
class Recognised:
    """What is understood of a stylesheet. Without `made` nothing is, for the reason given."""

    made: dict[Path, Expression | str] | None
    """By attribute: how it is made, or why that is not understood."""
    reason: str = ""
    unknown: list[str] = field(default_factory=list)
    """Elements that are no attributes of the target."""

    def expression(self, path: Path) -> Expression | str | None:
        """How an attribute is made, or why that is not understood; None when nothing makes it."""
        if self.made is None:
            return self.reason
        return next((self.made[path[:end]] for end in range(1, len(path) + 1) if path[:end] in self.made), None)

    def lacks(self, name: str) -> bool:
        """Whether nothing makes an attribute."""
        return self.made is not None and all(path[0] != name for path in self.made)


def recognise(stylesheet: Stylesheet, source: EventType, target: EventType) -> Recognised:
    """What is understood of a stylesheet from the one type to the other."""
    try:
        result, context = _result(stylesheet.tree(), source, target)
    except NotSimple as error:
        return Recognised(None, str(error))
    found = Recognised({})
    _Reader(stylesheet, source, context, found).read(result, target.attributes, ())
    return found


def _result(root: Any, source: EventType, target: EventType) -> tuple[Any, Path]:
    """The element that becomes the event, and the path from where the template stands to the event's own element."""
    (template,) = _one(root, _xsl_named(root, "template"), "it has several templates, or none")
    if any(local_name(one) not in _DECLARATIONS for one in root if isinstance(one.tag, str)):
        raise NotSimple("it declares more than one template")
    matched = (template.get("match") or "").strip()
    name = identifier(source.name)
    if template.get("mode") or matched not in ("/", "*", "/*", name, f"/{name}"):
        raise NotSimple(f"its template matches {matched!r}")
    if root.get("version") == "1.0" and root.get("xpath-default-namespace"):
        raise NotSimple("it has a namespace")
    (result,) = _one(template, list(template), "the template makes more than one element")
    _check_plain(result)
    if not is_event_of(result, target):
        raise NotSimple(f"it makes <{local_name(result)}>, not <{identifier(target.name)}>")
    return result, (name,) if matched == "/" else ()


def is_event_of(element: Any, type: EventType) -> bool:
    """Whether an element is an event of the type: named after it, or `<Event type="…">`."""
    if local_name(element) == "Event" and element.get("type") is not None:
        return identifier(element.get("type")) in (identifier(type.name), identifier(type.qualified_name))
    return local_name(element) == identifier(type.name)


def _xsl_named(root: Any, name: str) -> list[Any]:
    return [one for one in root if one.tag == f"{{{XSL}}}{name}"]


def _one(above: Any, elements: list[Any], reason: str) -> list[Any]:
    kept = [one for one in elements if isinstance(one.tag, str)]
    if len(kept) != 1 or (above.tag != f"{{{XSL}}}stylesheet" and _texts(above)):
        raise NotSimple(reason)
    return kept


def _texts(element: Any) -> str:
    return "".join([element.text or "", *(one.tail or "" for one in element)]).strip()


def _check_plain(element: Any) -> None:
    """Literal elements only: no instruction, and no attribute that is computed or changes how spaces are read."""
    if element.tag.startswith(f"{{{XSL}}}"):
        raise NotSimple(f"<xsl:{local_name(element)}> decides what is made")
    if any(name != "type" or "{" in str(text) for name, text in element.attrib.items()):
        raise NotSimple(f"<{local_name(element)}> has attributes")


@dataclass(slots=True)
class _Reader:
    stylesheet: Stylesheet
    source: EventType
    context: Path
    found: Recognised

    def read(self, above: Any, attributes: Mapping[str, AttributeType], prefix: Path) -> None:
        """Note how each attribute below an element is made."""
        assert self.found.made is not None
        names = {identifier(name): name for name in attributes}
        inner = [one for one in above if isinstance(one.tag, str)]
        if not prefix and len(attributes) == 1 and not any(local_name(one) in names for one in inner):
            ((name, declared),) = attributes.items()
            self.found.made[(name,)] = self._content(above, declared)
            return
        for element in inner:
            name = names.get(local_name(element), "")
            if name:
                self._read_one(element, (*prefix, name), attributes[name])
            elif element.tag.startswith(f"{{{XSL}}}"):
                self._leave(names, prefix, f"<xsl:{local_name(element)}> decides what is made")
            elif prefix or local_name(element) not in ENVELOPE_PARTS.values():
                self.found.unknown.append(".".join((*prefix, local_name(element))))

    def _leave(self, names: Mapping[str, str], prefix: Path, reason: str) -> None:
        """Whatever is not understood yet may be made by the instruction."""
        assert self.found.made is not None
        for name in names.values():
            self.found.made[(*prefix, name)] = reason

    def _read_one(self, element: Any, path: Path, declared: AttributeType) -> None:
        assert self.found.made is not None
        if any(known[: len(path)] == path for known in self.found.made):
            self._leave({"": path[-1]}, path[:-1], f"<{local_name(element)}> is made twice")
        elif declared.kind is Kind.STRUCT:
            self._read_struct(element, path, declared)
        else:
            self.found.made[path] = self._content(element, declared)

    def _read_struct(self, element: Any, path: Path, declared: AttributeType) -> None:
        assert self.found.made is not None
        try:
            _check_plain(element)
            self.read(element, declared.attributes, path)
        except NotSimple as error:
            self.found.made[path] = str(error)

    def _content(self, element: Any, declared: AttributeType) -> Expression | str:
        """The value of what stands in an element, or why it is not understood."""
        try:
            if local_name(element) != "Event":
                _check_plain(element)
            return _as_kind(self._parts(element), declared)
        except NotSimple as error:
            return str(error)

    def _parts(self, element: Any) -> list[Selected]:
        parts = [_text(element.text)]
        for one in element:
            if one.tag == f"{{{XSL}}}text" and len(one) == 0:
                parts.append(Selected(Literal(one.text or ""), Kind.STRING, True))
            elif one.tag == f"{{{XSL}}}value-of" and set(one.attrib) == {"select"} and len(one) == 0:
                parts.append(selected(str(one.get("select")), one.nsmap, self.stylesheet, self.source, self.context))
            elif isinstance(one.tag, str):
                raise NotSimple(f"<{'xsl:' if XSL in one.tag else ''}{local_name(one)}> makes the value")
            parts.append(_text(one.tail))
        return [part for part in parts if part.node != Literal("")]


def _text(text: str | None) -> Selected:
    """Text of a stylesheet; what is only space stands for nothing."""
    return Selected(Literal(text if text and text.strip() else ""), Kind.STRING, True)


def _as_kind(parts: list[Selected], declared: AttributeType) -> Expression:
    if declared.kind is Kind.STRING:
        return _joined([part.as_text() for part in parts])
    if len(parts) == 1 and parts[0].kind is declared.kind:
        return parts[0].node
    if len(parts) == 1 and (parts[0].kind, declared.kind) == (Kind.INT, Kind.FLOAT):
        return Call("float", (parts[0].node,))
    texts = [part.node.value for part in parts if isinstance(part.node, Literal)]
    constant = value_of("".join(texts), declared.kind) if len(texts) == len(parts) else None
    if constant is None:
        raise NotSimple(f"a text becomes a {declared.kind}")
    return Literal(constant)


def _joined(parts: list[Expression]) -> Expression:
    if not parts:
        return Literal("")
    first, *rest = parts
    for part in rest:
        first = Arithmetic("+", first, part)
    return first
