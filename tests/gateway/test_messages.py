"""Messages come out as they went in, in every encoding; what is none gives a `Misuse` and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from comity.errors import Misuse
from comity.gateway.messages import (
    Addressee,
    Audience,
    Body,
    Encoding,
    EventNotice,
    GatewayMessage,
    MessageSender,
    NodeAddress,
    ObserverRequest,
    RoutingUpdate,
    TypeAddition,
    TypeSubscription,
    canonical,
    decode_gateway_message,
    encode_gateway_message,
)
from comity.gateway.messages.xml_parts import standard_part
from comity.limits import limited
from tests.gateway.messages import BODIES, ENTER, EVERY_GATEWAY_MESSAGE, INSTANCE, STYLESHEET, message_of

GOLDEN = Path(__file__).parent.parent / "golden" / "messages"
_SUFFIXES = {"json": Encoding.JSON, "xml": Encoding.XML, "plain.xml": Encoding.PLAIN_XML}
NOT_IN_APPENDIX = [
    "control-leave",
    "type-removetype",
    "advertisement-unadvertise",
    "subscription-unsubscribe",
    "notification-cloudevents",
    "contract-proposing",
    "contract-agreeing",
    "contract-refusing",
    "contract-leaving",
    "observer-unobserve",
]
IN_APPENDIX = [name for name in EVERY_GATEWAY_MESSAGE if name not in NOT_IN_APPENDIX]
_HERMES = '<hermes xmlns="http://www.cl.cam.ac.uk/opera/eventfed" name="a.example" port="9000" domain="4">{}</hermes>'


@pytest.mark.parametrize("path", sorted(GOLDEN.iterdir()), ids=lambda path: path.name)
def test_a_message_is_written_as_the_golden_file_has_it(path: Path) -> None:
    name, _, suffix = path.name.partition(".")
    written = encode_gateway_message(EVERY_GATEWAY_MESSAGE[name], _SUFFIXES[suffix])
    assert written.strip() == path.read_bytes().strip()


@pytest.mark.parametrize("name", EVERY_GATEWAY_MESSAGE)
def test_golden_files_are_read_as_what_they_were_written_from(name: str) -> None:
    for suffix in ("json", "xml"):
        found = decode_gateway_message((GOLDEN / f"{name}.{suffix}").read_bytes())
        assert found == EVERY_GATEWAY_MESSAGE[name]


@pytest.mark.parametrize("name", IN_APPENDIX)
def test_a_plain_document_is_written_again_byte_for_byte(name: str) -> None:
    plain = encode_gateway_message(EVERY_GATEWAY_MESSAGE[name], Encoding.PLAIN_XML)
    found = decode_gateway_message(plain)
    assert encode_gateway_message(found, Encoding.PLAIN_XML) == plain
    assert decode_gateway_message(plain).id == found.id, "the same document again is the same message"


@pytest.mark.parametrize("name", IN_APPENDIX)
def test_a_plain_document_is_valid_by_the_schema_of_the_appendix(name: str) -> None:
    schema = etree.XMLSchema(etree.parse(Path(__file__).parent / "appendix_a.xsd"))
    schema.assertValid(etree.fromstring(encode_gateway_message(EVERY_GATEWAY_MESSAGE[name], Encoding.PLAIN_XML)))


@pytest.mark.parametrize("name", NOT_IN_APPENDIX)
def test_what_the_appendix_cannot_say_is_not_said_otherwise(name: str) -> None:
    with pytest.raises(Misuse) as caught:
        encode_gateway_message(EVERY_GATEWAY_MESSAGE[name], Encoding.PLAIN_XML)
    assert caught.value.code == "not-in-appendix"


def test_every_body_has_a_golden_file() -> None:
    assert {type(body) for body in BODIES.values()} == set(get_args(Body))
    there = {path.name for path in GOLDEN.iterdir()}
    wanted = {name + suffix for name in EVERY_GATEWAY_MESSAGE for suffix in (".json", ".xml")}
    assert there == wanted | {f"{name}.plain.xml" for name in IN_APPENDIX}


_names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co")), max_size=12)
_texts = st.text(
    st.characters(
        codec="utf-8",
        exclude_categories=("Cs", "Cn", "Co"),
        exclude_characters="".join(map(chr, [*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])),
    )
)
_plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
_data = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        _plain | st.text(max_size=8),
        lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
_times = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))
_elements = st.lists(st.sampled_from([ENTER, INSTANCE, STYLESHEET]), max_size=3).map(tuple)
_bodies = st.one_of(
    st.sampled_from(list(BODIES.values())),
    st.builds(TypeAddition, typename=_names, extends=_names, definition=_elements, declaration=_data),
    st.builds(TypeSubscription, typename=_names, fedreg=_texts, filter=st.text(), subscription=_names),
    st.builds(EventNotice, typename=_names, instances=_elements, events=st.lists(_data, max_size=3).map(tuple)),
    st.builds(
        ObserverRequest,
        contracttypename=_names,
        types=st.lists(st.sampled_from([ENTER, INSTANCE]), max_size=2).map(tuple),
        functions=st.lists(st.just(STYLESHEET), max_size=2).map(tuple),
        declaration=_data,
    ),
)
_addresses = st.builds(NodeAddress, _names, st.integers(0, 65_535))
_messages = st.builds(
    GatewayMessage,
    id=st.text(min_size=1, max_size=20),
    reply_to=st.text(max_size=5),
    federation=st.text(max_size=5),
    sender=st.builds(MessageSender, domain=st.text(max_size=5), number=st.integers(0, 2**49), node=_addresses),
    to=st.builds(Addressee, st.sampled_from([Audience.DOMAIN, Audience.NODE]), st.text(max_size=5))
    | st.builds(Addressee, st.just(Audience.ALL), st.text(max_size=2)),
    sent=st.none() | _times,
    expires=st.none() | _times,
    hops=st.integers(0, 99),
    via=st.none() | _addresses,
    signature=st.text(max_size=9),
    content=_bodies,
)


@given(_messages, st.sampled_from([Encoding.JSON, Encoding.XML]))
def test_what_is_decoded_is_what_was_encoded(message: GatewayMessage, encoding: Encoding) -> None:
    found = decode_gateway_message(encode_gateway_message(message, encoding))
    assert found == message
    assert canonical(found) == canonical(message)


@given(_messages, st.integers(0, 99), _addresses)
def test_hops_are_no_part_of_what_is_signed(message: GatewayMessage, hops: int, via: NodeAddress) -> None:
    passed_on = msgspec.structs.replace(message, hops=hops, via=via, signature="other")
    assert canonical(passed_on) == canonical(message)
    assert canonical(msgspec.structs.replace(message, id=message.id + "x")) != canonical(message)


def test_what_is_said_without_need_is_no_part_of_what_is_signed() -> None:
    short = b'{"id": "1", "sender": {}, "content": {"body": "discover"}}'
    long = b'{"comity": 1, "id": "1", "reply_to": "", "to": {"name": ""}, "sender": {"node": {"port": 0}}, "hops": 0, '
    long += b'"content": {"body": "discover", "names": ""}}'
    assert canonical(decode_gateway_message(long)) == canonical(decode_gateway_message(short))


def test_a_document_of_an_old_gateway_is_read() -> None:
    text = _HERMES.format(
        '<subscription><subscribe typename="EnterEvent" lang="en"><fedreg>&lt;a/&gt;</fedreg></subscribe>'
        "</subscription>"
    )
    found = decode_gateway_message(f"<!-- 2002 -->\n{text}".encode())
    assert found.sender == MessageSender(number=4, node=NodeAddress("a.example", 9000))
    assert found.content == TypeSubscription(typename="EnterEvent", fedreg="<a/>")


def test_parts_keep_the_namespaces_that_surround_them() -> None:
    inner = '<type><addtype typename="T"><x:element type="x:string" ref="t:a"/></addtype></type>'
    text = _HERMES.format(inner).replace("<hermes", '<hermes xmlns:x="urn:x" xmlns:t="urn:t" xmlns:no="urn:no"')
    (definition,) = decode_gateway_message(text.encode()).content.definition  # type: ignore[union-attr]
    assert 'xmlns:t="urn:t"' in definition
    assert 'xmlns:x="urn:x"' in definition
    assert "urn:no" not in definition
    assert standard_part(definition) == definition


def test_an_originator_is_told_from_whoever_passed_its_message_on() -> None:
    found = decode_gateway_message((GOLDEN / "control-broadcast.plain.xml").read_bytes())
    assert found.to.scope is Audience.ALL
    assert found.sender.node == NodeAddress("house.example", 7470)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad-message"),
        (b"{}", "bad-message"),
        (b"[" * 100_000, "bad-message"),
        (b'{"id": "1", "sender": {}, "content": {"body": "no such"}}', "bad-message"),
        (b'{"id": "1", "sender": {}, "content": {"body": "routing"}}', "bad-message"),
        (b'{"id": "\\ud800", "sender": {}, "content": {"body": "discover"}}', "bad-message"),
        (b"<a/>", "bad-message"),
        (b"<a", "bad-xml"),
        (b"\xff\xfe<a/>", "bad-message"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "has-doctype"),
        (_HERMES.format("").encode(), "bad-message"),
        (_HERMES.format("<discovery><discover/></discovery><discovery/>").encode(), "bad-message"),
        (_HERMES.format("<discovery><subscribe/></discovery>").encode(), "bad-message"),
        (_HERMES.format("<discovery/>").replace('"4"', '"٤"').encode(), "bad-message"),
        (_HERMES.format('<routing><entry name="a" port="99999" cost="1"/></routing>').encode(), "bad-message"),
        (_HERMES.format("<x>" * 70 + "</x>" * 70).encode(), "too-large-message"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(Misuse) as caught:
        decode_gateway_message(data)
    assert caught.value.code == code


def test_messages_are_bounded() -> None:
    message = message_of(RoutingUpdate(entries=EVERY_GATEWAY_MESSAGE["routing"].content.entries * 10))  # type: ignore[union-attr]
    for encoding, changes in ((Encoding.JSON, "bytes"), (Encoding.XML, "elements"), (Encoding.XML, "levels")):
        with limited(**{f"max_gateway_message_{changes}": 2}), pytest.raises(Misuse) as caught:
            decode_gateway_message(encode_gateway_message(message, encoding))
        assert caught.value.code == "too-large-message"


def test_what_xml_cannot_say_is_refused_when_it_is_written() -> None:
    message = message_of(TypeSubscription(typename="T", fedreg="\x00"))
    with pytest.raises(Misuse, match="XML cannot say"):
        encode_gateway_message(message, Encoding.XML)
    assert decode_gateway_message(encode_gateway_message(message)) == message


@pytest.mark.parametrize(
    "body",
    [
        TypeAddition(typename="T", definition=("<a />",)),
        ObserverRequest(contracttypename="T", types=(STYLESHEET,)),
        ObserverRequest(contracttypename="T", functions=(INSTANCE,)),
    ],
)
def test_parts_that_would_be_read_otherwise_are_refused(body: Body) -> None:
    with pytest.raises(Misuse, match="would be read otherwise"):
        encode_gateway_message(message_of(body), Encoding.XML)


def test_what_the_appendix_has_no_place_for_stands_in_one_attribute() -> None:
    root = etree.fromstring(encode_gateway_message(EVERY_GATEWAY_MESSAGE["contract-contracting"], Encoding.XML))
    more = root.get("{urn:comity:gateway}more")
    assert json.loads(more)["reply_to"] == "m6"
    expires = datetime.fromisoformat(json.loads(more)["expires"])
    assert expires - datetime(2026, 5, 1, 12, 5, tzinfo=UTC) == timedelta(microseconds=250)
