"""Messages from XML. What comes in was written by others: it is bounded, and has no entities."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from comity.errors import Misuse
from comity.event.schemas.xml_text import parse_xml
from comity.gateway.messages.as_json import bad_message, canonical
from comity.gateway.messages.bodies import (
    Acceptance,
    Body,
    MessageKind,
    NodeRequest,
    Rejection,
    RouteEntry,
    RoutingUpdate,
)
from comity.gateway.messages.envelope import GatewayMessage
from comity.gateway.messages.to_xml import MORE, ROOT, is_of
from comity.gateway.messages.xml_parts import drop_remarks, part_text
from comity.gateway.messages.xml_table import BODY_OF, MESSAGE_URI, PLACES
from comity.limits import limits

_OF_ALL = "broadcast"


def decode_xml_message(data: bytes) -> GatewayMessage:
    """The message in a document; attributes that are not known are passed over. Raises `Misuse`.

    A document that gives its message no id, as those of old gateways, gets a digest of what it says: the same message
    again is the same one.
    """
    try:
        root = parse_xml(data.decode())
        drop_remarks(root)
        _check_size(root)
        return _message(root)
    except UnicodeError:
        raise bad_message("it is not UTF-8") from None
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise bad_message(str(error)) from None


def _check_size(root: Any) -> None:
    most = limits().max_gateway_message_elements
    if sum(1 for _ in root.iter()) > most:
        raise Misuse(f"a message with more than {most:,} elements", code="too-large-message")
    if _depth(root) > limits().max_gateway_message_levels:
        reason = f"a message with more than {limits().max_gateway_message_levels} levels of elements"
        raise Misuse(reason, code="too-large-message")


def _depth(root: Any) -> int:
    level, deepest = [root], 0
    while level:
        deepest += 1
        level = [below for element in level for below in element]
    return deepest


def _message(root: Any) -> GatewayMessage:
    if root.tag != ROOT:
        raise bad_message("its root is not `hermes` of the namespace of messages")
    said = _more(root)
    sender = dict(said.get("sender") or {})
    around = root
    if len(root) == 1 and _local(root[0]) == _OF_ALL:
        around = root[0]
        if (said.get("to") or {}).get("scope") != "all":
            said["to"] = {"scope": "all"}
        if "via" in said or (root.get(MORE) is None and _address(root) != _address(around)):
            said["via"] = _address(root)
    sender["node"] = _address(around)
    if root.get("domain") is not None:
        sender["number"] = _number(root, "domain")
    if len(around) != 1:
        raise bad_message("it has not exactly one message in it")
    content = _body(around[0])
    said |= {"sender": sender, "content": msgspec.to_builtins(content)}
    if "id" in said:
        return msgspec.convert(said, GatewayMessage)
    unnamed = msgspec.convert({**said, "id": "none"}, GatewayMessage)
    return msgspec.structs.replace(unnamed, id=hashlib.blake2b(canonical(unnamed), digest_size=16).hexdigest())


def _body(outer: Any) -> Body:
    kind = _local(outer)
    if kind == MessageKind.ROUTING.value and not any(_local(one) in ("accept", "reject") for one in outer):
        return RoutingUpdate(entries=tuple(_entry(one) for one in outer))
    if len(outer) != 1:
        raise bad_message(f"`{kind}` has not exactly one element in it")
    inner = outer[0]
    body = BODY_OF.get((kind, _local(inner)))
    if body is None:
        raise bad_message(f"there is no `{_local(inner)}` in `{kind}`"[:200])
    said = _more(inner) | {"body": body.__struct_config__.tag}
    if body in (Acceptance, Rejection):
        said["of"] = kind
    if body in (NodeRequest, Acceptance, Rejection) and outer.get("type") is not None:
        said["role"] = outer.get("type")
    _take_places(body, inner, said)
    found: Body = msgspec.convert(said, body)
    return found


def _take_places(body: type[Body], inner: Any, said: dict[str, Any]) -> None:
    place = PLACES[body]
    for field, attribute in place.attributes.items():
        if inner.get(attribute) is not None:
            said[field] = inner.get(attribute)
    for field, name in place.texts.items():
        said[field] = "".join(text for one in inner if _local(one) == name for text in one.itertext())
    taken: set[Any] = set()
    for field, namespace in place.parts.items():
        elements = [one for one in inner if one not in taken and is_of(one, namespace)]
        taken |= set(elements)
        said[field] = [part_text(one) for one in elements]


def _entry(element: Any) -> RouteEntry:
    if _local(element) != "entry":
        raise bad_message("routes are elements `entry`")
    said = _more(element) | {"name": element.get("name"), "port": _number(element, "port")}
    return msgspec.convert(said | {"cost": _number(element, "cost")}, RouteEntry)


def _more(element: Any) -> dict[str, Any]:
    """What the appendix has no place for."""
    text = element.get(MORE)
    found = msgspec.json.decode(text) if text is not None else {}
    if not isinstance(found, dict):
        raise bad_message("the attribute `more` is an object of JSON")
    return found


def _address(element: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"name": element.get("name", "")}
    return said | ({"port": _number(element, "port")} if element.get("port") is not None else {})


def _number(element: Any, name: str) -> int:
    text = element.get(name)
    if text is None or not text.isdecimal() or not text.isascii() or len(text) > 16:
        raise bad_message(f"`{name}` is a number")
    return int(text)


def _local(element: Any) -> str:
    """The name of an element of messages, which some write in the namespace of the root; another one has none."""
    space, _, name = element.tag.rpartition("}")
    return str(name) if space in ("", f"{{{MESSAGE_URI}") else ""
