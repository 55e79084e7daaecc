"""The certificate of a server and its key, taken up anew when the files are renewed."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

from comity.errors import Misuse, Place
from comity.logs import log

_Stamp = tuple[tuple[int, int, int], ...]


class Certificate:
    """PEM files; the key may stand in that of the certificate. Raises `Misuse` if they are no such pair.

    A renewed pair counts from the next connection on. While only one of the two is renewed, or they cannot be read,
    the pair before it stays in force.
    """

    def __init__(self, certificate: Path, key: Path | None = None) -> None:
        self._files = (certificate, key if key is not None else certificate)
        self._stamp = _stamp(self._files)
        self._context = _load(*self._files)

    def context(self) -> ssl.SSLContext:
        """What the next connection is secured with."""
        try:
            stamp = _stamp(self._files)
        except OSError:  # between the removal of the old file and the new one
            return self._context
        if stamp != self._stamp:
            self._stamp = stamp
            self._renew()
        return self._context

    def _renew(self) -> None:
        try:
            self._context = _load(*self._files)
        except Misuse as error:
            log("certificate not renewed", level=logging.WARNING, error=str(error))
        else:
            log("certificate renewed", file=str(self._files[0]))


def _stamp(files: tuple[Path, Path]) -> _Stamp:
    found = [path.stat() for path in files if path.exists()]
    return tuple((one.st_mtime_ns, one.st_size, one.st_ino) for one in found)


def _load(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    for path in (certificate, key):
        _check_readable(path)
    try:
        context.load_cert_chain(certificate, key, password=_refuse_password)
    except ssl.SSLError as error:
        raise _why_unusable(certificate, key, error) from error
    except _Encrypted:
        raise _unusable("the key is encrypted", key, "write it without a passphrase, readable by us alone") from None
    return context


class _Encrypted(Exception):
    pass


def _refuse_password() -> str:
    raise _Encrypted  # else OpenSSL asks on the terminal, and waits


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise _unusable(f"cannot be read: {error.strerror}", path, "name a PEM file") from error


def _why_unusable(certificate: Path, key: Path, error: ssl.SSLError) -> Misuse:
    if error.reason == "KEY_VALUES_MISMATCH":
        return _unusable(
            "the key is not that of the certificate", key, f"give the key that {certificate} was made with"
        )
    for path, kind in ((certificate, b"CERTIFICATE-----"), (key, b"PRIVATE KEY-----")):
        if kind not in path.read_bytes():
            what = "certificate" if path is certificate else "private key"
            return _unusable(f"there is no {what} in it", path, "it is written in PEM, with -----BEGIN in front")
    return _unusable(f"cannot be used: {error.reason or error}", certificate, "check it with `openssl x509 -text`")


def _unusable(message: str, path: Path, hint: str) -> Misuse:
    return Misuse(message, code="bad-certificate", place=Place(str(path)), hint=hint)
