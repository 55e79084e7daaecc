"""Attribute declarations as files write them.

In short they are `float degC?` or `float 1000 USD`, in full `{kind: float, unit: degC, optional: true}` or
`{kind: float, context: {currency: USD, scale: 1000, accuracy: 0.5}}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from comity.document import Document, did_you_mean
from comity.errors import ComityError, Misuse, Place
from comity.event.context import NO_CONTEXT, Context
from comity.event.kinds import Kind
from comity.event.types import AttributeType

CheckUnit = Callable[[str], None]
"""Raises a `ComityError` for a unit that it does not know."""

DocumentPath = tuple[str | int, ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORT = re.compile(r"\s*(?P<kind>[^\s?]*)\s*(?P<unit>[^?]*?)\s*(?P<optional>\??)\s*")
_CURRENCY = re.compile(r"[A-Z]{3}")
_SCALED = re.compile(r"\s*\d")
_KEYS = {"kind", "unit", "optional", "concept", "attributes", "of", "description", "context"}
_TEXT_KEYS = ("unit", "concept", "description")
_OWNERS = {"attributes": Kind.STRUCT, "of": Kind.LIST}


@dataclass(slots=True)
class DeclarationReader:
    """Reads declarations out of a document and gathers what is wrong with them in `faults`."""

    document: Document
    check_unit: CheckUnit | None = None
    faults: list[ComityError] = field(default_factory=list)

    def fault(self, message: str, path: DocumentPath, code: str, *, key: bool = False, hint: str | None = None) -> None:
        """Note an error at a value or at its key."""
        self.faults.append(self.document.fault(message, path, code=code, key=key, hint=hint))

    def check_name(self, name: str, what: str, path: DocumentPath, *, key: bool = True) -> None:
        """Names are letters, digits and underscores, and do not begin with a digit."""
        if not _NAME.fullmatch(name):
            hint = "use letters, digits and underscores, and no digit in front"
            self.fault(f"`{name}` cannot name {what}", path, "bad-name", key=key, hint=hint)

    def check_keys(self, mapping: dict[str, Any], known: set[str], path: DocumentPath) -> None:
        """Note every key that is not known."""
        for key in mapping.keys() - known:
            self.fault(f"unknown key `{key}`", (*path, key), "unknown-key", key=True, hint=did_you_mean(key, known))

    def mapping(self, value: Any, path: DocumentPath) -> dict[str, Any]:
        """The value if it is a mapping; an empty one for nothing, and for anything else, which is noted."""
        if value is not None and not isinstance(value, dict):
            self.fault("expected a mapping", path, "bad-value")
        return value if isinstance(value, dict) else {}

    def text(self, value: Any, path: DocumentPath) -> str | None:
        """The value if it is text; None for nothing, and for anything else, which is noted."""
        if value is not None and not isinstance(value, str):
            self.fault(f"expected text, not {value!r}"[:100], path, "bad-value")
        return value if isinstance(value, str) else None

    def flag(self, value: Any, path: DocumentPath) -> bool:
        """The value if it is true or false; false for nothing, and for anything else, which is noted."""
        if value is not None and not isinstance(value, bool):
            self.fault(f"expected true or false, not {value!r}"[:100], path, "bad-value")
        return value is True

    def attributes(self, value: Any, path: DocumentPath) -> dict[str, AttributeType]:
        """The attributes of a type or struct, without those that are wrong."""
        found: dict[str, AttributeType] = {}
        for name, declaration in self.mapping(value, path).items():
            self.check_name(name, "an attribute", (*path, name))
            attribute = self.attribute(declaration, (*path, name))
            if attribute is not None:
                found[name] = attribute
        return found

    def attribute(self, declaration: Any, path: DocumentPath) -> AttributeType | None:
        """One attribute; None if it is wrong."""
        if isinstance(declaration, str):
            return self._short(declaration, path)
        if isinstance(declaration, dict):
            return self._full(declaration, path)
        hint = "write a kind such as `float`, or a mapping with a `kind`"
        self.fault("an attribute needs a kind", path, "bad-value", key=True, hint=hint)
        return None

    def _short(self, text: str, path: DocumentPath) -> AttributeType | None:
        match = _SHORT.fullmatch(text)
        if match is None:
            self.fault(f"cannot read `{text}`", path, "bad-value", hint="write: kind [unit][?]")
            return None
        kind = self._kind(match["kind"], path)
        unit = match["unit"] or None
        if kind is not None and kind in _OWNERS.values():
            self._require(kind, {}, path)
            return None
        self._unit(unit, kind, path, match.start("unit"))
        return AttributeType(kind, bool(match["optional"]), unit) if kind else None

    def _full(self, declaration: dict[str, Any], path: DocumentPath) -> AttributeType | None:
        self.check_keys(declaration, _KEYS, path)
        kind_text = self.text(declaration.get("kind"), (*path, "kind"))
        if "kind" not in declaration:
            self.fault("`kind` is missing", path, "missing-key")
        kind = self._kind(kind_text, (*path, "kind")) if kind_text is not None else None
        unit, concept, _ = (self.text(declaration.get(key), (*path, key)) for key in _TEXT_KEYS)
        self._unit(unit, kind, (*path, "unit"), 0)
        given = self.mapping(declaration.get("context"), (*path, "context"))
        unit = self._unit_of_context(given, unit, kind, (*path, "context"))
        context = self._context(given, kind, (*path, "context"))
        self._require(kind, declaration, path)
        attributes = self.attributes(declaration.get("attributes"), (*path, "attributes"))
        element = self._element(declaration["of"], (*path, "of")) if "of" in declaration else None
        optional = self.flag(declaration.get("optional"), (*path, "optional"))
        return AttributeType(kind, optional, unit, concept, attributes, element, context) if kind else None

    def _kind(self, text: str, path: DocumentPath) -> Kind | None:
        try:
            return Kind(text)
        except ValueError:
            known = [kind.value for kind in Kind]
            hint = did_you_mean(text, known) or f"kinds are {', '.join(known)}"
            self.fault(f"unknown kind `{text}`", path, "unknown-kind", hint=hint)
            return None

    def _unit(self, unit: str | None, kind: Kind | None, path: DocumentPath, offset: int) -> None:
        if unit is None or kind is None:
            return
        place = Place(line=1, column=offset + 1)
        if not kind.is_number:
            error: ComityError = Misuse(f"a {kind.value} has no unit", code="unit-on-non-number", place=place)
            self.faults.append(self.document.locate(error, path))
        elif self.check_unit is not None:
            try:
                self.check_unit(unit)
            except ComityError as error:
                self.faults.append(self.document.locate(error.located(None, 1, offset + 1), path))

    def _unit_of_context(
        self, given: dict[str, Any], unit: str | None, kind: Kind | None, path: DocumentPath
    ) -> str | None:
        """The unit with its scale: that of the declaration, or the unit or currency of its context."""
        for key in ("unit", "currency"):
            inner = self.text(given.get(key), (*path, key))
            if inner is not None and unit is not None:
                hint = "give one unit or one currency, once"
                self.fault(
                    f"`{key}` beside the unit {unit}", (*path, key), "contradicting-context", key=True, hint=hint
                )
            elif inner is not None:
                unit = self._currency(inner, (*path, key)) if key == "currency" else inner
                self._unit(unit, kind, (*path, key), 0)
        return self._scaled(given["scale"], unit, kind, (*path, "scale")) if "scale" in given else unit

    def _currency(self, code: str, path: DocumentPath) -> str | None:
        if _CURRENCY.fullmatch(code):
            return code
        hint = "write the three capitals of ISO 4217, for example USD"
        self.fault(f"`{code}` is no currency", path, "unknown-currency", hint=hint)
        return None

    def _scaled(self, scale: Any, unit: str | None, kind: Kind | None, path: DocumentPath) -> str | None:
        if isinstance(scale, bool) or not isinstance(scale, int | float) or scale <= 0:
            self.fault(f"a scale is a number above zero, not {scale!r}"[:100], path, "bad-scale")
        elif kind is not None and not kind.is_number:
            self.fault(f"a {kind.value} has no scale", path, "unit-on-non-number", key=True)
        elif unit is not None and _SCALED.match(unit):
            self.fault(f"`scale` beside that of {unit}", path, "contradicting-context", key=True, hint="give one scale")
        elif scale != 1:
            return f"{int(scale) if scale == int(scale) else scale!r} {unit or 'dimensionless'}"
        return unit

    def _context(self, given: dict[str, Any], kind: Kind | None, path: DocumentPath) -> Context:
        """What a context says beyond unit, currency and scale."""
        properties = {name: value for name, value in given.items() if name not in ("unit", "currency", "scale")}
        for name, value in properties.items():
            if value is None or (name == "codes" and not isinstance(value, str)):
                self.fault(f"`{name}` needs a value", (*path, name), "bad-value")
            elif name == "codes" and kind not in (Kind.STRING, None):
                self.fault("only a string has `codes`", (*path, name), "codes-on-non-string", key=True)
        self._accuracy(properties.get("accuracy"), (*path, "accuracy"))
        return Context(properties) if properties else NO_CONTEXT

    def _accuracy(self, value: Any, path: DocumentPath) -> None:
        """A number, or one that has a context itself: `{value: 0.1, context: {unit: degC}}`."""
        if isinstance(value, dict) and "value" in value:
            value, path = value["value"], (*path, "value")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and value >= 0):
            self.fault(f"an accuracy is a number that is not negative, not {value!r}"[:100], path, "bad-value")

    def _require(self, kind: Kind | None, declaration: dict[str, Any], path: DocumentPath) -> None:
        """A struct has `attributes` and a list has `of`, and nothing else has them."""
        for key, owner in _OWNERS.items():
            if kind is owner and not declaration.get(key):
                self.fault(f"a {owner.value} needs `{key}`", path, "missing-key")
            elif kind is not None and kind is not owner and key in declaration:
                self.fault(f"only a {owner.value} has `{key}`", (*path, key), "unknown-key", key=True)

    def _element(self, declaration: Any, path: DocumentPath) -> AttributeType | None:
        element = self.attribute(declaration, path)
        if element is not None and element.optional:
            self.fault("the elements of a list cannot be optional", path, "bad-value")
        return element
