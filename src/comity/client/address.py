"""Where a broker is, as people write it: `comity://HOST:PORT`, and `comitys://HOST:PORT` over TLS."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from comity.errors import Misuse

DEFAULT_PORT = 7470
_SCHEMES = {"comity": False, "comitys": True}


@dataclass(frozen=True, slots=True)
class BrokerUrl:
    """The address of a broker.

    >>> BrokerUrl.read("comitys://[::1]:7471")
    BrokerUrl(host='::1', port=7471, is_secured=True)
    >>> str(BrokerUrl.read("comity://desk.example"))
    'comity://desk.example:7470'
    """

    host: str
    port: int
    is_secured: bool

    @classmethod
    def read(cls, text: str) -> BrokerUrl:
        """The address in a text; raises `Misuse` if there is none."""
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise _no_address(text) from None
        beyond = parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password
        if parts.scheme not in _SCHEMES or not host or port == 0 or beyond:
            raise _no_address(text)
        return cls(host, DEFAULT_PORT if port is None else port, _SCHEMES[parts.scheme])

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"comity{'s' * self.is_secured}://{host}:{self.port}"


def _no_address(text: str) -> Misuse:
    hint = "write comity://HOST:PORT, or comitys://HOST:PORT for TLS"
    return Misuse(f"{text[:100]!r} is no address of a broker", code="bad-address", hint=hint)
