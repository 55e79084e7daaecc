"""From AsyncAPI 3 to types and sources: messages are types, channels suggest where their events come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from comity.document import Document, read_text
from comity.errors import Misuse, Place
from comity.event.declaration import CheckUnit
from comity.event.schemas.asyncapi import SOURCE
from comity.event.schemas.avro_in import AvroReader
from comity.event.schemas.draft import Draft, Imported
from comity.event.schemas.json_schema_in import SchemaReader
from comity.event.schemas.json_text import at, parse_json, pointer
from comity.event.schemas.names import identifier

DocumentPath = tuple[str | int, ...]

_TOP_KEYS = {"asyncapi", "id", "info", "channels", "components", "defaultContentType", "operations", "servers"}
_MESSAGE_KEYS = {"name", "title", "summary", "description", "payload", "contentType", "schemaFormat"}
_SCHEMA_FORMATS = ("application/schema+json", "application/schema+yaml", "application/vnd.aai.asyncapi")
_AVRO_FORMAT = "application/vnd.apache.avro"
_WEB = ("http", "https")
_WEB_PORT = 8080


def read_asyncapi(
    text: str, file: str | None = None, *, domain: str | None = None, check_unit: CheckUnit | None = None
) -> Imported:
    """The types and the suggested sources of an AsyncAPI document."""
    document = parse_json(text, file)
    draft = Draft(file, domain, check_unit)
    AsyncApiReader(document, draft).take()
    return draft.imported()


@dataclass(slots=True)
class AsyncApiReader:
    """Reads one document into a draft."""

    document: Document
    draft: Draft
    messages: dict[DocumentPath, str] = field(default_factory=dict)
    """By its path: the name of a message."""

    def take(self) -> None:
        """Take everything."""
        top = self.document.data
        version = top.get("asyncapi") if isinstance(top, dict) else None
        if not str(version).startswith("3."):
            hint = "convert it to version 3" if version else "it begins with `asyncapi: 3.0.0`"
            self.draft.fault("this is no AsyncAPI document of version 3", self._place(()), "bad-schema", hint)
            return
        for key in top.keys() - _TOP_KEYS:
            self.draft.note(f"`{key}` is not kept", self._place((key,)))
        self._take_namespace(top)
        self._take_messages()
        self._take_channels()

    def _take_namespace(self, top: dict[str, Any]) -> None:
        title = at(self.document, ("info", "title"))
        if isinstance(top.get("id"), str):
            self.draft.take_namespace(top["id"], self._place(("id",)))
        elif isinstance(title, str):
            self.draft.namespace = identifier(title)
            if self.draft.namespace != title and self.draft.domain is None:
                self.draft.note(f"`{title}` becomes `{self.draft.namespace}`", self._place(("info", "title")))

    def _take_messages(self) -> None:
        """Name all schemas that are types first, since they refer to each other; then read them."""
        reader = SchemaReader(self.document, self.draft)
        payloads: dict[DocumentPath, str] = {}
        for path in self._message_paths():
            message = at(self.document, path)
            name = self.draft.type_name(self._message_name(message, path), self._place(path))
            self.messages[path] = name
            payload = self._payload(message, path, name)
            if payload is not None and payload in payloads:
                self.draft.note(f"has the payload of `{payloads[payload]}`, too", self._place(path))
                reader.take_type(name, payload)
            elif payload is not None:
                payloads[payload] = name
        reader.names.update(payloads)
        more = reader.name_types(("components", "schemas"))
        for path, name in {**more, **payloads}.items():
            reader.take_type(name, path)
        self._sort(("components", "schemas"), {**payloads, **more})

    def _sort(self, below: DocumentPath, names: dict[DocumentPath, str]) -> None:
        """Put the types in the order in which their schemas stand in the document."""
        schemas = at(self.document, below)
        order = [names.get((*below, key)) for key in schemas] if isinstance(schemas, dict) else []
        place = {name: index for index, name in enumerate(order)}
        ordered = sorted(self.draft.types.items(), key=lambda item: place.get(item[0], len(place)))
        self.draft.types = dict(ordered)

    def _message_paths(self) -> Iterator[DocumentPath]:
        """The messages of the components, and those that channels have in place."""
        yield from self._below(("components", "messages"))
        for channel in self._below(("channels",)):
            for path in self._below((*channel, "messages")):
                if "$ref" not in at(self.document, path):
                    yield path

    def _below(self, path: DocumentPath) -> list[DocumentPath]:
        found = at(self.document, path)
        return [(*path, key) for key in found if isinstance(found[key], dict)] if isinstance(found, dict) else []

    def _message_name(self, message: dict[str, Any], path: DocumentPath) -> str:
        name = message.get("name")
        return name if isinstance(name, str) and name else str(path[-1])

    def _payload(self, message: dict[str, Any], path: DocumentPath, name: str) -> DocumentPath | None:
        """Where the JSON Schema of a payload stands; None if it was read otherwise, or is left out."""
        for key in message.keys() - _MESSAGE_KEYS:
            self.draft.note(f"`{key}` is not kept", self._place((*path, key), name))
        inner: DocumentPath = (*path, "payload")
        payload = at(self.document, inner)
        form = payload.get("schemaFormat") if isinstance(payload, dict) else None
        if isinstance(form, str):
            inner = (*inner, "schema")
            payload = at(self.document, inner)
        inner = self._referred(payload, inner)
        if isinstance(form, str) and form.startswith(_AVRO_FORMAT):
            self._take_avro(inner, name)
            return None
        if isinstance(form, str) and not form.startswith(_SCHEMA_FORMATS):
            self.draft.note(f"is left out: `{form}` is not read", self._place(inner, name))
            return None
        if not isinstance(at(self.document, inner), dict):
            self.draft.note("is left out: it has no payload in the document", self._place(path, name))
            return None
        return inner

    def _take_avro(self, path: DocumentPath, name: str) -> None:
        """Take a payload that is Avro, here or in a file beside this one."""
        document, at_schema = self.document, path
        if path[-1] == "$ref":
            try:
                document, at_schema = self._beside(str(at(self.document, path))), ()
            except Misuse as error:
                self.draft.note(f"is left out: {error.message}", self._place(path, name))
                return
        reader = AvroReader(document, self.draft)
        if reader.has_types(at_schema):
            reader.take_types(at_schema, name)
        else:
            self.draft.note("is left out: there is no Avro record in it", self._place(path, name))

    def _beside(self, reference: str) -> Document:
        """The document of a file that is referred to; raises `Misuse` if it is none. Nothing is fetched."""
        location = urlsplit(reference)
        if self.draft.file is None or location.scheme or location.netloc or location.fragment:
            raise Misuse(f"`{reference}` is not followed", code="bad-schema")
        path = Path(self.draft.file).parent / unquote(location.path)
        return parse_json(read_text(path), str(path))

    def _referred(self, value: Any, path: DocumentPath) -> DocumentPath:
        """The path behind references."""
        seen: set[DocumentPath] = set()
        while isinstance(value, dict) and isinstance(value.get("$ref"), str) and path not in seen:
            seen.add(path)
            target = pointer(value["$ref"])
            if target is None:
                self.draft.note(f"`{value['$ref']}` is in another document", self._place(path))
                return (*path, "$ref")
            value, path = at(self.document, target), target
        return path

    def _take_channels(self) -> None:
        for path in self._below(("channels",)):
            source = self._source(at(self.document, path), path)
            if source is not None:
                name = identifier(str(path[-1]))
                if name in self.draft.sources:
                    message = f"two channels become the source `{name}`"
                    self.draft.fault(message, self._place(path), "name-conflict", "rename one of them")
                self.draft.sources[name] = source

    def _source(self, channel: dict[str, Any], path: DocumentPath) -> dict[str, Any] | None:
        """What a channel suggests: what it says itself, or a webhook for one of the web."""
        own = channel.get(SOURCE)
        if isinstance(own, dict) and len(own) == 1:
            return own
        protocols = self._protocols(channel)
        web = [one for one in protocols if one in _WEB]
        if not web:
            shown = (
                f"there is no connector for {', '.join(sorted(protocols))} yet" if protocols else "it says no protocol"
            )
            self.draft.note(f"suggests no source: {shown}", self._place(path))
            return None
        address = channel.get("address")
        shown = f"/{str(address).strip('/')}" if address else "/events"
        self.draft.note(f"is a webhook at port {_port(protocols[web[0]])}; check the port", self._place(path))
        return {"webhook": {"port": _port(protocols[web[0]]), "path": shown}}

    def _protocols(self, channel: dict[str, Any]) -> dict[str, str]:
        """By protocol: the host of its server, if one is named."""
        bindings = channel.get("bindings")
        found = dict.fromkeys(map(str, bindings), "") if isinstance(bindings, dict) else {}
        servers = channel.get("servers")
        paths: list[DocumentPath] = [("servers", name) for name in at(self.document, ("servers",)) or {}]
        if isinstance(servers, list):
            paths = [self._referred(one, ()) for one in servers]
        for path in paths:
            server = at(self.document, path)
            if isinstance(server, dict) and isinstance(server.get("protocol"), str):
                found[server["protocol"]] = str(server.get("host", ""))
        return found

    def _place(self, path: DocumentPath, name: str | None = None) -> Place:
        found = self.document.place(path, key=True)
        shown = name or ".".join(str(step) for step in path if step != "components") or None
        return Place(found.file, found.line, path=shown)


def _port(host: str) -> int:
    """The port that a server names."""
    port = host.partition("/")[0].rpartition(":")[2]
    return int(port) if port.isdecimal() and 0 < int(port) < 65_536 else _WEB_PORT
