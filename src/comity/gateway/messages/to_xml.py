"""Messages as XML, by the names of the appendix: the root is in its namespace, what is declared inside is in none."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.errors import Misuse
from comity.event.schemas.xml_text import parse_xml
from comity.gateway.messages.bodies import Acceptance, Body, NodeAction, NodeRequest, Rejection, RoutingUpdate
from comity.gateway.messages.envelope import Audience, GatewayMessage, NodeAddress
from comity.gateway.messages.xml_parts import standard_part
from comity.gateway.messages.xml_table import MESSAGE_URI, MORE_URI, PLACES, XmlPlace

MORE = f"{{{MORE_URI}}}more"
ROOT = f"{{{MESSAGE_URI}}}hermes"
_NAMESPACES = {"h": MESSAGE_URI, "c": MORE_URI}
_PLAIN_NAMESPACES = {"h": MESSAGE_URI}


def encode_xml_message(message: GatewayMessage, *, plain: bool = False) -> bytes:
    """The message as a document; a plain one says only what the appendix has a place for.

    Raises `Misuse` for characters that XML cannot say, and for parts that are no elements.
    """
    try:
        return _Writer(plain).document(message)
    except ValueError as error:
        raise Misuse(f"XML cannot say this message: {error}", code="bad-message") from None


class _Writer:
    def __init__(self, plain: bool) -> None:
        self._plain = plain

    def document(self, message: GatewayMessage) -> bytes:
        root = etree.Element(ROOT, nsmap=_PLAIN_NAMESPACES if self._plain else _NAMESPACES)
        around = root
        node = message.sender.node
        if message.to.scope is Audience.ALL:
            _set_address(root, message.via or node)
            around = etree.SubElement(root, "broadcast")
            _set_address(around, node)
        else:
            _set_address(root, node)
        if message.sender.number:
            root.set("domain", str(message.sender.number))
        if self._plain:
            _check_sayable(message.content)
        self._more(root, _envelope(message))
        self._body(around, message.content)
        written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
        return written + b"\n"

    def _body(self, around: Any, body: Body) -> None:
        place = PLACES[type(body)]
        said: dict[str, Any] = msgspec.to_builtins(body)
        said.pop("body")
        kind = said.pop("of") if place.kind is None else place.kind.value
        outer = etree.SubElement(around, kind)
        if isinstance(body, NodeRequest) or (isinstance(body, Acceptance | Rejection) and kind == "control"):
            outer.set("type", body.role.value)
            said.pop("role", None)
        if isinstance(body, RoutingUpdate):
            self._entries(outer, said.pop("entries"))
            return
        inner = etree.SubElement(outer, place.action)
        for field, attribute in place.attributes.items():
            if field in said:
                inner.set(attribute, said.pop(field))
        for field, name in place.texts.items():
            etree.SubElement(inner, name).text = said.pop(field, "")
        for field in tuple(place.parts)[::-1]:  # what is told by its namespace stands last
            for text in said.pop(field, ()):
                inner.append(_part(text, field, place))
        self._more(inner, said)

    def _entries(self, outer: Any, entries: list[dict[str, Any]]) -> None:
        for said in entries:
            entry = etree.SubElement(outer, "entry")
            for name in ("name", "port", "cost"):
                entry.set(name, str(said.pop(name)))
            self._more(entry, said)

    def _more(self, element: Any, said: dict[str, Any]) -> None:
        if said and not self._plain:
            element.set(MORE, json.dumps(said, allow_nan=False, separators=(",", ":")))


def _envelope(message: GatewayMessage) -> dict[str, Any]:
    said: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(message, content=_NOTHING))
    del said["content"]
    for name in ("number", "node"):
        said["sender"].pop(name, None)
    if not said["sender"]:
        del said["sender"]
    if message.to.scope is Audience.ALL and message.via is not None:
        said["via"] = {}
    return said


_NOTHING = RoutingUpdate(entries=())


def _set_address(element: Any, address: NodeAddress) -> None:
    if address.name:
        element.set("name", address.name)
    if address.port:
        element.set("port", str(address.port))


def _part(text: str, field: str, place: XmlPlace) -> Any:
    """An element inside of a message; raises `Misuse` for one that would be read as something else."""
    element = parse_xml(text)
    fits = next(name for name, space in place.parts.items() if is_of(element, space)) == field
    if not fits or standard_part(text) != text:
        hint = "make it with `comity.gateway.messages.xml_parts.standard_part`"
        raise Misuse(f"a part in `{field}` would be read otherwise", code="bad-message", hint=hint)
    return element


def is_of(element: Any, namespace: str) -> bool:
    """Whether an element is of a namespace; any element is of the empty one."""
    return not namespace or str(element.tag).startswith(f"{{{namespace}}}")


def _check_sayable(body: Body) -> None:
    """A withdrawal must not be read as what it takes back, nor a subscription without its filter."""
    place = PLACES[type(body)]
    is_joining = not isinstance(body, NodeRequest) or body.action is NodeAction.JOIN
    if place.is_new or not is_joining or (place.needs and not getattr(body, place.needs)):
        what = f"no `{place.needs}`" if place.needs else f"`{place.action}`"
        hint = "write it as XML with additions, or as JSON"
        raise Misuse(f"the appendix has no way to say {what}", code="not-in-appendix", hint=hint)
