"""How a client is known, secured and patient."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comity.client.address import BrokerUrl
from comity.client.notices import NetworkNotice
from comity.errors import Misuse, Place


def _pass_over(notice: NetworkNotice) -> None:
    """For whoever does not want to be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What `connect` was told."""

    url: BrokerUrl
    name: str | None = None
    token: str | None = field(default=None, repr=False)
    authorities: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    broker: str | None = None
    timeout_s: float = 10.0
    patience_s: float = 60.0
    told: Callable[[NetworkNotice], Any] = _pass_over

    def tell(self, notice: NetworkNotice) -> None:
        """Say what happened, from the event loop: what is wrong with whoever is told is not wrong with us."""
        asyncio.get_running_loop().call_soon(self.told, notice)

    def secured(self) -> ssl.SSLContext | None:
        """What connections are secured with; None for plain ones."""
        if not self.url.is_secured:
            return None
        with _usable(self.authorities):
            context = ssl.create_default_context(cafile=self.authorities)
        if self.certificate is not None:
            with _usable(self.certificate):
                context.load_cert_chain(self.certificate, self.key, password=_refuse_password)
        return context


@contextmanager
def _usable(path: Path | None) -> Iterator[None]:
    """Says what is wrong with a file of certificates."""
    try:
        yield
    except (OSError, _Encrypted) as error:  # SSLError is an OSError
        reason = "the key is encrypted" if isinstance(error, _Encrypted) else f"cannot be used: {error}"
        raise Misuse(reason, code="bad-certificate", place=Place(str(path)), hint="name a PEM file") from error


class _Encrypted(Exception):
    pass


def _refuse_password() -> str:
    raise _Encrypted  # else OpenSSL asks on the terminal, and waits
