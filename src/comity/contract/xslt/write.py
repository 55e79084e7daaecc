"""A mapping as a stylesheet that gives the same events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AbstractMapping
from copy import deepcopy
from functools import cache
from importlib import resources
from typing import Any

from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.contract.mapping import Mapping, Path
from comity.contract.xslt.form import ENVELOPE_PARTS
from comity.contract.xslt.literals import xpath_literal, xpath_text
from comity.contract.xslt.run import FUNCTIONS_URI, XSL
from comity.contract.xslt.xpath import XPath, refused
from comity.event.kinds import Kind
from comity.event.schemas.names import EVENT_URI, identifier
from comity.event.types import AttributeType, EventType
from comity.expression.simplify.known import always_present
from comity.expression.tree import Call, Expression, Lookup, walk

OWN_URI = "urn:comity:xslt"
"""The namespace of the functions in a printed mapping, and of its errors."""
_NAMESPACES = {
    "xsl": XSL,
    "xs": "http://www.w3.org/2001/XMLSchema",
    "array": "http://www.w3.org/2005/xpath-functions/array",
    "c": OWN_URI,
    "e": EVENT_URI,
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "extend": FUNCTIONS_URI,
}
_CODE_POINTS = "http://www.w3.org/2005/xpath-functions/collation/codepoint"
_CALLED = re.compile(r"\bc:([a-z-]+)\(")


def to_xslt(mapping: Mapping, subtypes: Iterable[str] = ()) -> str:
    """The mapping in XSLT 3.0, for events of its source type and of the subtypes named.

    Where the mapping gives no event, because something mandatory is missing, the stylesheet ends with the error
    `mapped-missing`. What XSLT cannot compute as we do is refused with code not-in-xslt.
    """
    sheet = _sheet(mapping)
    matched = [mapping.source.name, *subtypes]
    tables: dict[str, Lookup] = {}
    for number, step in enumerate(mapping.steps, start=1):
        printer = XPath(step.source, tables)
        following = f"step-{number + 1}" if number < len(mapping.steps) else None
        if number == 1:
            made = {"match": " | ".join(_pattern(identifier(name)) for name in matched)}
        else:
            made = {"match": "*", "mode": f"step-{number}"}
        _fill(_xsl(sheet, "template", **made), step, printer, following)
    _add_refusal(sheet, mapping)
    for name, table in tables.items():
        sheet.insert(1, _table(name, table))
    _add_functions(sheet)
    etree.cleanup_namespaces(sheet, keep_ns_prefixes=_prefixes(sheet))
    etree.indent(sheet)
    return str(etree.tostring(sheet, encoding="unicode", pretty_print=True))


def _pattern(name: str) -> str:
    """The document element of events of a type, in any namespace."""
    return f"/*:{name} | /*:Event[@type = '{name}']"


def _sheet(mapping: Mapping) -> Any:
    sheet = etree.Element(
        f"{{{XSL}}}stylesheet",
        {"version": "3.0", "exclude-result-prefixes": "#all", "default-collation": _CODE_POINTS},
        nsmap=_NAMESPACES,
    )
    sheet.append(etree.Comment(f" From {mapping.source.qualified_name} to {mapping.target.qualified_name}. "))
    return sheet


def _xsl(above: Any, name: str, /, **attributes: str) -> Any:
    return etree.SubElement(
        above, f"{{{XSL}}}{name}", {key.replace("_", "-"): text for key, text in attributes.items()}
    )


def _fill(template: Any, step: Mapping, printer: XPath, following: str | None) -> None:
    lacking = list(_lacking(step.target.attributes, (), dict(step.expressions), step))
    direct = not lacking and following is None
    plain = _xsl(template, "for-each", select=f"c:plain(., {_taken(step.source)})")
    inside = plain if direct else _xsl(plain, "variable", name="event")
    made = etree.SubElement(inside, identifier(step.target.name))
    _xsl(made, "sequence", select=f"c:envelope(., {_taken(step.target)})")
    _add_attributes(made, dict(step.expressions), (), step, printer)
    if direct:
        return
    if lacking:
        _xsl(plain, "variable", name="missing", select=f"({', '.join(lacking)})")
        failing = f"error(QName('{OWN_URI}', 'c:mapped-missing'), string-join($missing, ', '))"
        _xsl(_xsl(plain, "if", test="exists($missing)"), "sequence", select=failing)
    if following is None:
        _xsl(plain, "copy-of", select="$event")
    else:
        _xsl(plain, "apply-templates", select="$event/*", mode=following)


def _taken(type: EventType) -> str:
    """The elements that are attributes of the type, though they look like the envelope."""
    return f"({', '.join(xpath_text(part) for part in ENVELOPE_PARTS.values() if part in type.attributes)})"


def _add_attributes(
    above: Any, expressions: dict[Path, Expression], prefix: Path, step: Mapping, printer: XPath
) -> None:
    """The elements for what is mapped directly below a path, in the order of the mapping."""
    depth = len(prefix)
    for name in dict.fromkeys(path[depth] for path in expressions if path[:depth] == prefix):
        path = (*prefix, name)
        if path in expressions:
            _add_value(above, name, expressions[path], printer)
        else:
            struct = etree.SubElement(_xsl(above, "where-populated"), identifier(name))
            _add_attributes(struct, expressions, path, step, printer)


def _add_value(above: Any, name: str, expression: Expression, printer: XPath) -> None:
    kinds = printer.kinds(expression)
    _check_whole(expression, printer)
    each = _xsl(above, "for-each", select=printer.value(expression))
    element = etree.SubElement(each, identifier(name))
    if kinds & {Kind.STRUCT, Kind.LIST}:
        _xsl(element, "copy-of", select="node()")
    elif Kind.POINT in kinds:
        for number, coordinate in enumerate(("x", "y"), start=1):
            _xsl(etree.SubElement(element, coordinate), "value-of", select=f"c:float-text(.({number}))")
    else:
        _xsl(element, "value-of", select="c:float-text(.)" if Kind.FLOAT in kinds else ".")


def _check_whole(expression: Expression, printer: XPath) -> None:
    for node in walk(expression):
        if isinstance(node, Call) and node.function == "coalesce" and Kind.LIST in printer.kinds(node):
            raise refused(node, "the first of several lists cannot be told")


def _lacking(
    attributes: AbstractMapping[str, AttributeType], prefix: Path, expressions: dict[Path, Expression], step: Mapping
) -> Iterator[str]:
    """For each attribute that must be there and may be missing: XPath that gives its name when it is."""
    parent = "/".join(map(identifier, (step.target.name, *prefix)))
    for name, declared in attributes.items():
        path = (*prefix, name)
        below = [one for known, one in expressions.items() if known[: len(path)] == path]
        if not declared.optional and not any(always_present(one, step.source) for one in below):
            yield f"$event/{parent}[not({identifier(name)})] ! {xpath_text('.'.join(path))}"
        yield from _lacking(declared.attributes, path, expressions, step)


def _add_refusal(sheet: Any, mapping: Mapping) -> None:
    """An event of another type is not taken for one of this."""
    said = xpath_text(f"this is no {mapping.source.name}")
    template = _xsl(sheet, "template", match="/*", priority="-1")
    _xsl(template, "sequence", select=f"error(QName('{OWN_URI}', 'c:other-type'), {said})")


def _prefixes(sheet: Any) -> list[str]:
    """The namespaces that expressions name."""
    texts = " ".join(str(text) for one in sheet.iter() for text in one.attrib.values())
    return [prefix for prefix in _NAMESPACES if f"{prefix}:" in texts]


def _table(name: str, table: Lookup) -> Any:
    rows = [f"{xpath_literal(key, table)}: {xpath_literal(value, table)}" for key, value in table.rows]
    select = f"map {{ {', '.join(rows)} }}"
    return etree.Element(f"{{{XSL}}}variable", {"name": name, "select": select})


@cache
def _library() -> dict[str, list[Any]]:
    """The functions of the library by name; those of one name take different numbers of arguments."""
    text = resources.files(__package__).joinpath("library.xsl").read_bytes()
    found: dict[str, list[Any]] = {}
    for element in etree.fromstring(text).iter(f"{{{XSL}}}function"):
        found.setdefault((element.get("name") or "").removeprefix("c:"), []).append(element)
    return found


def _add_functions(sheet: Any) -> None:
    """The functions that are called, and those that they call."""
    added: set[str] = set()
    waiting = _called_in(sheet)
    while waiting:
        name = waiting.pop()
        if name not in added:
            added.add(name)
            waiting += [other for one in _library()[name] for other in _called_in(one)]
    for name, functions in _library().items():
        sheet.extend([deepcopy(one) for one in functions if name in added])


def _called_in(element: Any) -> list[str]:
    return [name for one in element.iter() for text in one.attrib.values() for name in _CALLED.findall(str(text))]
