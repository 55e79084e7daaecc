"""TLS between nodes: both sides show a certificate, and a broker's must name the broker."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

from comity.connect.http.certificate import Certificate
from comity.errors import Misuse, Permanent, Place
from comity.server.settings import TlsFiles


class TlsContexts:
    """What connections are secured with, in each direction; renewed files count from the next connection on."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._certificate = Certificate(files.certificate, files.key)
        self.dialing()

    def accepting(self) -> ssl.SSLContext:
        """For a connection that came: whoever opened it must have a certificate of our authorities."""
        context = self._certificate.context()
        context.set_alpn_protocols([])
        self._trust(context)
        return context

    def dialing(self) -> ssl.SSLContext:
        """For a connection to a peer. Its certificate must name the broker, not the machine: see `check_named`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_cert_chain(self._files.certificate, self._files.key)
        self._trust(context)
        return context

    def _trust(self, context: ssl.SSLContext) -> None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(self._files.authorities)
        except (OSError, ssl.SSLError) as error:
            reason = f"the authorities cannot be read: {error}"
            place = Place(str(self._files.authorities))
            raise Misuse(reason, code="bad-certificate", place=place, hint="name a PEM file") from error


def check_named(certificate: Any, name: str) -> None:
    """That a certificate names a broker; raises `Permanent` if not."""
    if name not in set(_names(certificate)):
        hint = "give each broker a certificate whose subject alternative names hold its name"
        raise Permanent(f"the certificate does not name {name}", code="wrong-certificate", hint=hint)


def _names(certificate: Any) -> Iterator[str]:
    yield from (name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS")
    for relative in certificate.get("subject", ()):
        yield from (value for key, value in relative if key == "commonName")
