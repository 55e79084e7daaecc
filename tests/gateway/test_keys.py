"""Only what a domain signed, for which the authority vouches, is its word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from comity.errors import Misuse
from comity.gateway.keys import (
    DomainKey,
    IdentityDocument,
    check_identity,
    check_signature,
    read_identity,
)
from comity.gateway.messages import (
    Encoding,
    GatewayMessage,
    NodeAddress,
    decode_gateway_message,
    encode_gateway_message,
)
from comity.gateway.remembered import TakenMessages
from comity.limits import limited
from tests.gateway.messages import EVERY_GATEWAY_MESSAGE

NOW = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
AUTHORITY = DomainKey(b"a" * 32)
HOUSE = DomainKey(b"h" * 32)
OTHER = DomainKey(b"o" * 32)


def _identity(key: DomainKey = HOUSE, **changes: object) -> IdentityDocument:
    document = IdentityDocument(
        federation="street", domain="house", number=12, key=key.public, expires=NOW + timedelta(days=365)
    )
    return AUTHORITY.sign_identity(msgspec.structs.replace(document, **changes))


MESSAGES = {name: HOUSE.sign_message(one, _identity()) for name, one in EVERY_GATEWAY_MESSAGE.items()}
MESSAGE = MESSAGES["contract-agreeing"]


def _check(message: GatewayMessage, now: datetime = NOW) -> IdentityDocument:
    return check_signature(message, AUTHORITY.public, "street", now)


@pytest.mark.parametrize("name", MESSAGES)
def test_a_signature_survives_both_encodings_and_every_hop(name: str) -> None:
    message = MESSAGES[name]
    for encoding in (Encoding.JSON, Encoding.XML, Encoding.JSON):
        message = decode_gateway_message(encode_gateway_message(message, encoding))
        message = msgspec.structs.replace(message, hops=message.hops + 1, via=NodeAddress("between", 1))
    assert _check(message).domain == "house"


def _sent(**changes: object) -> GatewayMessage:
    return HOUSE.sign_message(msgspec.structs.replace(MESSAGE, **changes), _identity())


def _claimed(**changes: object) -> GatewayMessage:
    return msgspec.structs.replace(MESSAGE, sender=msgspec.structs.replace(MESSAGE.sender, **changes))


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (msgspec.structs.replace(MESSAGE, content=MESSAGES["contract-leaving"].content), "not-authentic"),
        (msgspec.structs.replace(MESSAGE, id="other"), "not-authentic"),
        (msgspec.structs.replace(MESSAGE, signature=""), "not-authentic"),
        (msgspec.structs.replace(MESSAGE, signature="AAAA"), "not-authentic"),
        (msgspec.structs.replace(MESSAGE, federation="elsewhere"), "not-authentic"),
        (_claimed(domain="office"), "not-authentic"),
        (_claimed(number=13), "not-authentic"),
        (_claimed(identity=""), "bad-identity"),
        (_claimed(identity=_identity(OTHER, domain="house").as_text()), "not-authentic"),
        (OTHER.sign_message(MESSAGE, _identity()), "not-authentic"),
        (HOUSE.sign_message(MESSAGE, HOUSE.sign_identity(_identity())), "bad-identity"),
        (HOUSE.sign_message(MESSAGE, msgspec.structs.replace(_identity(), domain="office")), "bad-identity"),
        (HOUSE.sign_message(MESSAGE, _identity(expires=NOW)), "bad-identity"),
        (HOUSE.sign_message(MESSAGE, _identity(federation="elsewhere")), "bad-identity"),
        (_sent(expires=None), "not-authentic"),
        (_sent(sent=None), "not-authentic"),
        (_sent(sent=datetime(2026, 5, 1, 12, 0)), "not-authentic"),
        (_sent(expires=NOW), "expired-message"),
        (_sent(sent=NOW + timedelta(minutes=6)), "not-authentic"),
        (_sent(expires=NOW + timedelta(days=31)), "not-authentic"),
    ],
)
def test_what_is_not_the_word_of_its_sender_now_is_refused(message: GatewayMessage, code: str) -> None:
    assert _check(MESSAGE)
    with pytest.raises(Misuse) as caught:
        _check(message)
    assert caught.value.code == code


def test_a_signature_of_one_kind_is_none_of_another() -> None:
    """A domain cannot get its own document by having a message signed, nor the other way round."""
    document = _identity()
    forged = msgspec.structs.replace(MESSAGE, signature=document.signature)
    with pytest.raises(Misuse, match="not that of its sender"):
        _check(forged)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"federation": 1}', '{"federation":"f","domain":"d","key":"k"}'])
def test_what_is_no_identity_document_is_refused(text: str) -> None:
    with pytest.raises(Misuse) as caught:
        read_identity(text)
    assert caught.value.code == "bad-identity"


def test_a_document_is_read_as_it_was_written() -> None:
    document = _identity()
    assert read_identity(document.as_text()) == document
    check_identity(document, AUTHORITY.public, "street", NOW)
    with pytest.raises(Misuse, match="did not sign"):
        check_identity(document, "no key", "street", NOW)
    no_zone = document.as_text().replace("Z", "")
    with pytest.raises(Misuse, match="no zone"):
        read_identity(no_zone)


def test_a_private_key_is_kept_as_a_text_and_shown_to_nobody() -> None:
    assert DomainKey.of_text(HOUSE.as_text() + "\n").public == HOUSE.public
    assert HOUSE.as_text() not in repr(HOUSE)
    for text in ("", "AAAA", "no base64", HOUSE.as_text()[:-4]):
        with pytest.raises(Misuse) as caught:
            DomainKey.of_text(text)
        assert caught.value.code == "bad-key"


def test_a_message_is_known_until_it_expires_and_then_refused_by_its_time() -> None:
    later = NOW + timedelta(minutes=1)
    taken = TakenMessages().with_message("house", "1", later, NOW)
    assert taken.knows("house", "1")
    assert not taken.knows("office", "1")
    assert not taken.with_message("house", "2", later + timedelta(minutes=1), later).knows("house", "1")
    assert msgspec.json.decode(msgspec.json.encode(taken), type=TakenMessages) == taken


def test_one_domain_with_many_messages_is_in_nobody_elses_way() -> None:
    later = NOW + timedelta(minutes=1)
    with limited(max_remembered_messages=1):
        taken = TakenMessages().with_message("house", "1", later, NOW)
        with pytest.raises(Misuse) as caught:
            taken.with_message("house", "2", later, NOW)
        assert caught.value.code == "too-many-messages"
        taken.with_message("office", "2", later, NOW)
        taken.with_message("house", "2", later + timedelta(minutes=1), later)
