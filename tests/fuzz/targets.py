"""What is fuzzed: each reader of what others wrote, with seeds from the examples and tests.

A target takes any bytes. A `ComityError` or a rejected record is an answer; whatever else comes out is a finding.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from comity.errors import ComityError, Misuse
from comity.event import AttributeType, Event, EventType, Kind, Rejected, Taxonomy, decode, read_events
from comity.event.formats.xml.records import read_xml_lines
from comity.event.formats.xml.write import HEAD, TAIL, encode_xml
from comity.event.schemas.formats import FORMATS
from comity.expression.parse import as_filter, parse
from comity.expression.render import render
from comity.federation.files import load
from comity.gateway.messages import Encoding, canonical, decode_gateway_message, encode_gateway_message
from comity.language.fedreg.read import read_fedreg
from comity.language.files import parse_profiles
from comity.language.rdl.read import parse_rdl
from comity.pattern.text.render import render_composite
from comity.profile.blocks import parse_composites
from comity.profile.entries import entry_of
from comity.wire import Frame, FrameReader, decode_message, encode_message
from comity.wire.faults import ProtocolFault
from tests.event import hostile
from tests.fuzz.target import Target
from tests.gateway.messages import EVERY_GATEWAY_MESSAGE
from tests.wire.messages import EVERY_MESSAGE

ROOT = Path(__file__).parent.parent.parent
_ATTRIBUTES = {
    "heat": AttributeType(Kind.FLOAT, True),
    "n": AttributeType(Kind.INT, True),
    "at": AttributeType(Kind.TIMESTAMP, True),
    "took": AttributeType(Kind.DURATION, True),
    "place": AttributeType(Kind.POINT, True),
    "tags": AttributeType(Kind.LIST, True, element=AttributeType(Kind.STRING)),
    "device": AttributeType(Kind.STRUCT, True, attributes={"serial": AttributeType(Kind.BYTES, True)}),
}
_TYPE = EventType("T", "n", own=_ATTRIBUTES)
_TYPES = Taxonomy("n", [_TYPE])
_GOLDEN = ROOT / "tests" / "golden"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _expression(data: bytes) -> None:
    with suppress(ComityError):
        tree = parse(_text(data))
        for read in (lambda one: one, as_filter):
            one = read(tree)
            assert parse(render(one)) == one, "what is printed is read as the same"


def _pattern(data: bytes) -> None:
    with suppress(ComityError):
        for one in parse_composites(_text(data)):
            assert render_composite(one.name, one.composite)


def _rdl(data: bytes) -> None:
    with suppress(ComityError):
        parse_rdl(_text(data))


def _fedreg(data: bytes) -> None:
    for types in (None, {"T": _TYPE, "n.T": _TYPE}):
        with suppress(ComityError):
            for one in read_fedreg(_text(data), types):
                entry_of(one)


def _yaml(data: bytes) -> None:
    with suppress(ComityError):
        parse_profiles(_text(data), "profiles.yaml")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one.yaml").write_bytes(data)
        with suppress(ComityError):
            load(folder)


def _cloudevents(data: bytes) -> None:
    for types in (None, _TYPES):
        _check(decode(data, types))
        for found in read_events(io.BytesIO(data), types, require_time=True):
            _check(found)


def _avro(data: bytes) -> None:
    _check_file("a.avro", data)


def _xml(data: bytes) -> None:
    for types in (None, _TYPES):
        for _, line in read_xml_lines(io.BytesIO(data), types, name="a.xml"):
            _check(line if isinstance(line, Rejected) else decode(line, types))


def _parquet(data: bytes) -> None:
    _check_file("a.parquet", data)


def _schemas(data: bytes) -> None:
    for format in FORMATS.values():
        with suppress(ComityError):
            format.read(_text(data), domain="n")


def _wire(data: bytes) -> None:
    reader = FrameReader()
    reader.trust()
    with suppress(ProtocolFault):
        for frame in reader.read(data):
            message = decode_message(frame)
            again = encode_message(message)
            assert encode_message(decode_message(Frame(frame.kind, again[5], again))) == again, "as it was written"


def _gateway_message(data: bytes) -> None:
    with suppress(Misuse):
        message = decode_gateway_message(data)
        assert decode_gateway_message(encode_gateway_message(message)) == message, "what is written is read as the same"
        with suppress(Misuse):  # JSON says more than XML can
            again = encode_gateway_message(message, Encoding.XML)
            assert canonical(decode_gateway_message(again)) == canonical(message), "and so is XML"


def _check_file(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        for found in read_events(path, _TYPES):
            _check(found)


def _check(found: Event | Rejected) -> None:
    assert isinstance(found, Event) or found.faults, "what is rejected says why"


def _golden(*keys: str) -> Callable[[], Iterator[bytes]]:
    """What stands behind some words in the golden files."""

    def seeds() -> Iterator[bytes]:
        for path in sorted(_GOLDEN.glob("*.txt")):
            for line in path.read_text().splitlines():
                key, _, value = line.partition(": ")
                if key in keys and value:
                    yield value.encode()

    return seeds


def _patterns() -> Iterator[bytes]:
    for pattern in _golden("on", "instead")():
        yield b"profile p on " + pattern
    yield b"profile q on seq(A a, B b) within 5 min where a.x > b.y group by a.k consume all limit 10"


def _rules() -> Iterator[bytes]:
    for rule in _golden("rule", "instead")():
        yield b"rule r " + rule + b";"


def _subscriptions() -> Iterator[bytes]:
    for path in (ROOT / "tests" / "language" / "test_fedreg_read.py", ROOT / "docs" / "reference" / "fedreg.md"):
        for found in re.findall(r"<xce:Subscription.*?</xce:Subscription>", path.read_text(), re.DOTALL):
            yield found.encode()
    yield b'<xce:Subscription><xce:Template type="T"><heat>&gt;5</heat></xce:Template></xce:Subscription>'


def _documents() -> Iterator[bytes]:
    yield from (path.read_bytes() for path in sorted((ROOT / "examples").rglob("*.yaml")))


def _lines() -> Iterator[bytes]:
    for path in sorted((ROOT / "examples").rglob("*.jsonl")):
        yield path.read_bytes()[:1_500]
    yield b'{"id":"1","source":"/a","type":"n.T","time":"2024-05-01T12:00:00Z","data":{"heat":1.5,"took":"PT5M"}}'


def _elements() -> Iterator[bytes]:
    event = Event("1", "/a", "n.T", data={"heat": 1.5, "tags": ["a"], "device": {"serial": b"x"}})
    yield HEAD + encode_xml(event, _TYPE) + TAIL
    yield b"<T><id>1</id><src>/a</src><ts>2024-05-01T12:00:00Z</ts><heat>5</heat></T>"
    yield b"<a><b><c><T><id>1</id></T><d/></c></b></a>"


def _containers() -> Iterator[bytes]:
    from comity.testing.tables import encode_avro

    yield hostile.good(2)
    yield encode_avro([Event("1", "/a", "n.T", data={"heat": 1.5, "tags": ["a"]})], _TYPE)
    yield hostile.AVRO["empty-records"]()


def _tables() -> Iterator[bytes]:
    yield hostile.parquet_footer()
    yield hostile.good_parquet()


def _messages() -> Iterator[bytes]:
    yield from map(encode_message, EVERY_MESSAGE)
    yield b"".join(map(encode_message, EVERY_MESSAGE[:4]))


def _gateway_messages() -> Iterator[bytes]:
    for message in EVERY_GATEWAY_MESSAGE.values():
        yield encode_gateway_message(message)
        yield encode_gateway_message(message, Encoding.XML)


def _written_types() -> Iterator[bytes]:
    yield from (format.write(_TYPES, {}).encode() for format in FORMATS.values())


TARGETS = {
    "expression": Target(_expression, _golden("before", "after", "filter")),
    "pattern": Target(_pattern, _patterns),
    "rdl": Target(_rdl, _rules),
    "fedreg": Target(_fedreg, _subscriptions),
    "yaml": Target(_yaml, _documents),
    "cloudevents": Target(_cloudevents, _lines),
    "avro": Target(_avro, _containers),
    "xml": Target(_xml, _elements),
    "parquet": Target(_parquet, _tables),
    "wire": Target(_wire, _messages),
    "gateway": Target(_gateway_message, _gateway_messages),
    "schemas": Target(_schemas, _written_types),
}
if __name__ == "__main__":  # one input again: python -m tests.fuzz.targets xml FILE
    TARGETS[sys.argv[1]].read(Path(sys.argv[2]).read_bytes())
