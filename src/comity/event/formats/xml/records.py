"""Events as elements of XML, as in the seeds: an element named after the type, with an element for each attribute.

A document is one event, or a root with events below it, maybe inside of other elements. `<Event type="…">` names the
type in an attribute. The envelope is in attributes of our namespace (`c:id`, `c:source`, `c:time`, …) or in elements
`id`, `src` and `ts`. A struct has elements inside, a list is an element that is repeated, attributes of XML are
attributes of the event. With types, texts become what the type declares; without, they stay texts. `xsi:nil` is a
missing value, or an empty list.

Each event is turned into CloudEvents JSON, so that the faults are those of JSON Lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.event.expansion import UNPACKING_ERRORS, broken_gzip, open_file
from comity.event.formats.jsonlines import Rejected, TypeLookup, rejected, too_long
from comity.event.formats.xml.values import XmlValues, grouped, local, namespace
from comity.event.schemas.names import ENVELOPE_WORDS, EVENT_URI, known_type
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, EventType
from comity.event.validate import Fault
from comity.limits import limits

CHUNK_BYTES = 65_536
_SAFE = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    # They would stay in memory until the next event is read.
    "remove_comments": True,
    "remove_pis": True,
}
_ENVELOPE = ("id", "source", "type", "time", "subject", "sequence", "mode", "typeversion")
_MOST_WAITING = 100
"""Elements below the root that wait for an event to show up; then they are the records."""
_CONTAINER = f"{{{EVENT_URI}}}events"


def read_xml_lines(
    stream: IO[bytes], types: Taxonomy | TypeLookup | None = None, *, name: str | None = None, after: int = 0
) -> Iterator[tuple[int, bytes | Rejected]]:
    """Each event as a line of CloudEvents JSON that nobody checked yet, with its number.

    The number is the line where its element begins, or one more than the last number, if that is higher: so it always
    rises, and those up to `after` are left out.
    """
    lookup = types.find if isinstance(types, Taxonomy) else types
    reader = _Reader(lookup)
    number = 0
    for line, found in _Elements(stream, lookup):
        number = max(number + 1, line)
        if number <= after:
            continue
        if isinstance(found, Fault):
            yield number, rejected(b"", [found], number, name)
        else:
            yield number, reader.line(found, number, name)


def read_xml_file(
    path: str | Path, types: Taxonomy | TypeLookup | None = None, *, name: str | None = None, after: int = 0
) -> Iterator[tuple[int, bytes | Rejected]]:
    """The same for a file, which may be compressed."""
    number = after
    file = name or str(path)
    with open_file(Path(path)) as stream:
        try:
            for number, line in read_xml_lines(stream, types, name=file, after=after):
                yield number, line
        except UNPACKING_ERRORS as error:
            yield number + 1, rejected(b"", [broken_gzip(error)], number + 1, file)


class _Elements:
    """The elements of a document that are events, one after the other, in bounded memory.

    An element is an event if it says so: by the name of a known type, or by an envelope. Those beside it are records,
    too, whatever they are called, and what is around them is not. While no event has shown up the elements below the
    root may be records, or stand before what holds the events; so they wait.
    """

    def __init__(self, stream: IO[bytes], lookup: TypeLookup | None) -> None:
        self._stream, self._lookup = stream, lookup
        self._holds: list[bool] = []
        """For each open element: whether there were events in it."""
        self._level: int | None = None
        """How deep the events are: 0 for the root, 1 below it; None while that is open."""
        self._event: int | None = None
        """How deep the event is that is open."""
        self._waiting: list[tuple[int, Any]] = []
        self._fed = 0
        self._began = 0
        self._is_long = False

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The line of each element, and the element, or the `Fault` of one that is too long or broken."""
        parser = etree.XMLPullParser(events=("start", "end"), **_SAFE)
        while chunk := self._stream.read(CHUNK_BYTES):
            error = _attempt(parser.feed, chunk)
            self._fed += len(chunk)
            for action, element in parser.read_events():
                if not self._holds and action == "start" and element.getroottree().docinfo.internalDTD is not None:
                    yield 1, Fault("", "", "a document with a DOCTYPE is not read", "has-doctype")
                    return
                yield from self._begin(element) if action == "start" else self._end(element)
            if error is not None:
                yield from self._waiting
                yield error.lineno or 1, _broken(error)
                return
        yield from self._waiting
        error = _attempt(parser.close)
        if error is not None and self._fed:
            yield error.lineno or 1, _broken(error)

    def _begin(self, element: Any) -> Iterator[tuple[int, Any]]:
        depth = len(self._holds)
        self._holds.append(False)
        if self._event is None:
            if depth <= self._record_depth():
                self._began, self._is_long = self._fed, False
            found = self._event_depth(element, depth)
            if found is not None:
                yield from self._open(found)
        if self._is_record(depth) and not self._is_long and self._fed - self._began > limits().max_record_bytes:
            self._is_long = True
            yield element.sourceline or 1, too_long(f"more than {limits().max_record_bytes} bytes")

    def _open(self, depth: int) -> Iterator[tuple[int, Any]]:
        """An event begins. Where the first one is decides what those were that waited."""
        self._event = depth
        if depth > self._record_depth():
            self._began, self._is_long = self._fed, False
        if self._level is None and depth == 1:
            yield from self._waiting
        self._waiting, self._level = [], depth

    def _end(self, element: Any) -> Iterator[tuple[int, Any]]:
        held = self._holds.pop()
        depth = len(self._holds)
        if depth == self._event:
            self._event = None
            self._holds = [True] * depth
            yield from self._record(element)
        elif self._event is None and not held and depth == self._record_depth():
            yield from self._record(element)
        elif self._event is None and depth < self._record_depth():
            if depth == 0 and not held and not self._waiting and self._level is None and element.tag != _CONTAINER:
                yield element.sourceline or 1, element
            _forget(element)
        elif self._is_long:
            _forget(element)

    def _record(self, element: Any) -> Iterator[tuple[int, Any]]:
        is_long, self._is_long = self._is_long, False
        if self._level is None and not is_long:
            self._waiting.append((element.sourceline or 1, element))
            if len(self._waiting) < _MOST_WAITING:
                return
            yield from self._open(1)
            self._event = None
        elif not is_long:
            yield element.sourceline or 1, element
        _forget(element)

    def _record_depth(self) -> int:
        return 1 if self._level is None else self._level

    def _is_record(self, depth: int) -> bool:
        """Whether an element is part of a record: of an event, or of what may be one."""
        return depth >= (self._event if self._event is not None else self._record_depth())

    def _event_depth(self, element: Any, depth: int) -> int | None:
        """The depth of the event that begins with an element, or that the element shows its parent to be."""
        if element.tag == _CONTAINER:
            return None
        if self._is_event(element):
            return depth
        is_shown = 0 < depth <= 2 and local(element) in ENVELOPE_WORDS and not self._holds[depth - 1]
        return depth - 1 if is_shown and self._level in (None, depth - 1) else None

    def _is_event(self, element: Any) -> bool:
        names_type = local(element) == EVENT.name and element.get("type") is not None
        if names_type or any(element.get(f"{{{EVENT_URI}}}{one}") is not None for one in _ENVELOPE):
            return True
        if self._lookup is None:
            return False
        return known_type(namespace(element), local(element), self._lookup)[1] is not None


def _attempt(feed: Any, *arguments: Any) -> Any:
    try:
        feed(*arguments)
    except etree.XMLSyntaxError as error:
        return error
    return None


def _broken(error: Any) -> Fault:
    reason = str(error.msg).rpartition(", line ")[0] or str(error.msg)
    column = error.position[1] if error.position else None
    return Fault("", "", f"the XML is broken from here on: {reason}", "broken-xml", column or None)


def _forget(element: Any) -> None:
    """Give the memory of an element back, and that of everything before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


class _Reader:
    """From elements to lines; it remembers what their names stand for."""

    def __init__(self, lookup: TypeLookup | None) -> None:
        self._lookup = lookup
        self._known: dict[tuple[str, str], tuple[str, EventType | None]] = {}

    def line(self, element: Any, number: int, file: str | None) -> bytes | Rejected:
        """The line for an element, or why there is none."""
        explicit = _explicit_type(element)
        name, declared = self._type(element, explicit)
        inside = grouped(element)
        envelope = {part: text for part in _ENVELOPE if (text := element.get(f"{{{EVENT_URI}}}{part}"))}
        left_out = {"type"} if explicit is not None and element.get("type") == explicit else set()
        for word, part in ENVELOPE_WORDS.items():
            if part not in envelope and word in inside and (declared is None or word not in declared.attributes):
                envelope[part] = "".join(inside[word][0].itertext()).strip()
                left_out.add(word)
        values = XmlValues()
        data = values.struct(element, declared.attributes if declared is not None else None, "", left_out)
        if values.faults:
            return rejected(b"", values.faults, number, file)
        return msgspec.json.encode({**envelope, "type": name, "data": data})

    def _type(self, element: Any, explicit: str | None) -> tuple[str, EventType | None]:
        key = ("", explicit) if explicit is not None else (element.tag, "")
        if key not in self._known:
            space = "" if explicit is not None else namespace(element)
            self._known[key] = known_type(space, explicit or local(element), self._lookup)
        return self._known[key]


def _explicit_type(element: Any) -> str | None:
    """The type that an element says in an attribute, if its name does not."""
    own = element.get(f"{{{EVENT_URI}}}type")
    if own is not None or local(element) != EVENT.name:
        return None if own is None else str(own)
    found = element.get("type")
    return None if found is None else str(found)
