"""Who somebody is in a federation: key pairs, documents by which the authority says whose a key is, signed messages."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime, timedelta
from hashlib import blake2b

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from comity.errors import Misuse
from comity.gateway.messages import GatewayMessage, canonical
from comity.limits import limits

SEED_BYTES = 32
"""Of chance, from which a key pair is made."""
_OF_MESSAGE = b"comity message 1\n"
"""What is signed begins with what it is, so that no signature is good for something else."""
_OF_IDENTITY = b"comity identity 1\n"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_MOST_SKEW = timedelta(minutes=5)
"""That the clock of a sender may be ahead of ours."""


class IdentityDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The authority of a federation says: this key is that of this domain, until then."""

    federation: str
    domain: str
    number: int = 0
    """The number of the domain, as old gateways know it; 0: it has none."""
    key: str
    """The public key, as base64."""
    expires: datetime
    signature: str = ""

    @property
    def key_id(self) -> str:
        """The short name of the key."""
        return key_id(self.key)

    def as_text(self) -> str:
        """The document as a text of one line."""
        return msgspec.json.encode(self).decode()


class DomainKey:
    """A key pair, of a domain or of an authority."""

    def __init__(self, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._seed = seed
        self.public = _text(self._private.public_key().public_bytes_raw())
        """The public key, as base64."""

    def __repr__(self) -> str:
        return f"DomainKey({self.key_id})"

    @property
    def key_id(self) -> str:
        """The short name of the key."""
        return key_id(self.public)

    def as_text(self) -> str:
        """The private key, for the file that nobody else may read."""
        return _text(self._seed)

    @classmethod
    def of_text(cls, text: str) -> DomainKey:
        """The key pair in a file; raises `Misuse`."""
        return cls(_bytes(text.strip(), SEED_BYTES, "private key"))

    def sign_identity(self, document: IdentityDocument) -> IdentityDocument:
        """The document with the signature of this key, which is that of the authority."""
        signature = self._private.sign(_OF_IDENTITY + _unsigned(document))
        return msgspec.structs.replace(document, signature=_text(signature))

    def sign_message(self, message: GatewayMessage, identity: IdentityDocument) -> GatewayMessage:
        """The message as one of the domain of this key, signed, with the document that says so."""
        sender = msgspec.structs.replace(
            message.sender,
            domain=identity.domain,
            number=identity.number,
            key=self.key_id,
            identity=identity.as_text(),
        )
        told = msgspec.structs.replace(message, federation=identity.federation, sender=sender)
        return msgspec.structs.replace(told, signature=_text(self._private.sign(_OF_MESSAGE + canonical(told))))


def key_id(public: str) -> str:
    """The short name of a public key.

    >>> key_id("GOf3PsZWjgS4YZjg9sbr9y6bnaTxi12z/qAo6MGUpn8=")
    '6efde922093fb662'
    """
    return blake2b(public.encode(), digest_size=8).hexdigest()


def read_identity(text: str) -> IdentityDocument:
    """The document that a text is, whoever signed it; raises `Misuse`."""
    try:
        found = msgspec.json.decode(text, type=IdentityDocument)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _bad_identity(f"it is none: {error}") from None
    if found.expires.tzinfo is None:
        raise _bad_identity("its time has no zone")
    check_plain_name(found.domain)
    check_plain_name(found.federation)
    return found


def check_identity(document: IdentityDocument, authority: str, federation: str, now: datetime) -> None:
    """Raises `Misuse` unless the authority signed the document, for this federation and for now."""
    if not _is_signed(authority, document.signature, _OF_IDENTITY + _unsigned(document)):
        raise _bad_identity("the authority did not sign it")
    if document.federation != federation:
        raise _bad_identity(f"it is for the federation {document.federation}")
    if document.expires <= now:
        raise _bad_identity(f"it was good until {document.expires.isoformat()}")


def check_signature(message: GatewayMessage, authority: str, federation: str, now: datetime) -> IdentityDocument:
    """Whose message it is; raises `Misuse` unless that domain signed it, for this federation and for now."""
    sender = message.sender
    identity = read_identity(sender.identity)
    check_identity(identity, authority, federation, now)
    is_its = (sender.domain, sender.number, sender.key) == (identity.domain, identity.number, identity.key_id)
    if not is_its or message.federation != federation:
        raise _refused("its sender is not the one of its identity document")
    if not _is_signed(identity.key, message.signature, _OF_MESSAGE + canonical(message)):
        raise _refused("its signature is not that of its sender")
    _check_times(message, now)
    return identity


def check_public(text: str) -> None:
    """Raises `Misuse` unless a text is a public key."""
    _bytes(text, 32, "public key")


def check_plain_name(name: str) -> None:
    """Raises `Misuse` unless a name of a domain, federation or contract can be the name of a file, and no other."""
    if not _PLAIN_NAME.fullmatch(name):
        hint = "take letters, digits and underscores, 100 at the most"
        raise Misuse(f"{name[:100]!r} is no name that travels", code="bad-name", hint=hint)


def _check_times(message: GatewayMessage, now: datetime) -> None:
    sent, expires = message.sent, message.expires
    if sent is None or expires is None or sent.tzinfo is None or expires.tzinfo is None:
        raise _refused("it does not say when it was sent and when it expires")
    if expires <= now:
        raise Misuse(f"a message that expired at {expires.isoformat()}", code="expired-message")
    if sent > now + _MOST_SKEW:
        raise _refused(f"it was sent at {sent.isoformat()}, which is not yet")
    if expires - sent > timedelta(seconds=limits().max_gateway_message_s):
        raise _refused("it is to be good for longer than any message")


def _unsigned(document: IdentityDocument) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(document, signature=""), order="sorted")


def _is_signed(public: str, signature: str, said: bytes) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(_bytes(public, 32, "public key"))
        key.verify(_bytes(signature, 64, "signature"), said)
    except (InvalidSignature, Misuse):
        return False
    return True


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str, size: int, what: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != size:
        raise Misuse(f"this is no {what}", code="bad-key", hint="make keys with `comity keys new`")
    return found


def _bad_identity(reason: str) -> Misuse:
    hint = "ask the authority of the federation for a new one (`comity keys sign`)"
    return Misuse(f"the identity document does not count: {reason}", code="bad-identity", hint=hint)


def _refused(reason: str) -> Misuse:
    return Misuse(f"the message is refused: {reason}", code="not-authentic")
