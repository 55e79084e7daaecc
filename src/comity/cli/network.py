"""What the commands of clients share: how they connect, and what they say of the connection."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.options import argument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.client import Connecting, NetworkNotice

UrlArgument = Annotated[str, argument("URL", "A broker: comity://HOST:PORT, or comitys://HOST:PORT over TLS.")]
TokenOption = Annotated[
    Path | None, option("FILE", "A file with the text that the broker asks for; or COMITY_TOKEN.", "--token")
]
AuthoritiesOption = Annotated[Path | None, option("FILE", "Authorities to trust (PEM), with TLS.", "--tls-ca")]
CertificateOption = Annotated[Path | None, option("FILE", "Our certificate (PEM), with TLS.", "--tls-cert")]
KeyOption = Annotated[Path | None, option("FILE", "Its key; default: in the same file.", "--tls-key")]
BrokerOption = Annotated[
    str | None, option("NAME", "The name in the broker's certificate; default: the host.", "--broker")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long to wait for an answer.")
]
TIMEOUT_S, PATIENCE_S = 10.0, 60.0


Tls = tuple[Path | None, Path | None, Path | None, str | None]
"""Authorities, certificate, key, and the name of the broker."""


def connecting(
    url: str,
    format: Format,
    *,
    name: str | None = None,
    token: Path | None,
    tls: Tls,
    timeout_s: float,
    patience_s: float = PATIENCE_S,
) -> Connecting:
    """A connection as the options of a command say."""
    from comity.client import connect

    authorities, certificate, key, broker = tls
    return connect(
        url,
        name=name,
        token=_token(token),
        authorities=authorities,
        certificate=certificate,
        key=key,
        broker=broker,
        timeout_s=timeout_s,
        patience_s=patience_s,
        told=lambda notice: tell(notice, format),
    )


def tell(notice: NetworkNotice, format: Format) -> None:
    """Say on standard error what happened to the connection."""
    if format is Format.JSON:
        write_json({"notice": type(notice).__name__, "message": str(notice)}, stderr=True)
    else:
        console(stderr=True).print(str(notice), style="yellow")


def _token(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get("COMITY_TOKEN") or None
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Misuse(f"cannot be read: {error.strerror}", code="unreadable-file", place=Place(str(path))) from error
