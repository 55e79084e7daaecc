"""Addresses whose path or query is a secret, as those of many webhooks are: whoever knows one can post there."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


class SecretUrl:
    """An address that is shown without what follows the host; `reveal` gives all of it.

    >>> print(SecretUrl("https://hooks.example:8443/services/T0/s3cret?key=1"))
    https://hooks.example:8443/…
    >>> SecretUrl("http://127.0.0.1:9000/")
    SecretUrl('http://127.0.0.1:9000/')
    """

    __slots__ = ("_url",)

    def __init__(self, url: str) -> None:
        """Raises `ValueError` for what is no address of HTTP; its text does not repeat it."""
        self._url = _checked(url)

    def reveal(self) -> SplitResult:
        """Its parts, for whoever connects to it."""
        return urlsplit(self._url)

    def __str__(self) -> str:
        parts = self.reveal()
        hides = bool(parts.query or parts.fragment or parts.path.strip("/"))
        return f"{parts.scheme}://{parts.netloc}{'/…' if hides else parts.path}"

    def __repr__(self) -> str:
        return f"SecretUrl('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretUrl) and other._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)


def _checked(url: str) -> str:
    if not url.isascii() or any(character.isspace() or not character.isprintable() for character in url):
        raise ValueError("an address has no spaces and no characters beyond ASCII")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError("the host or the port of this address is none") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("this is no http:// or https:// address")
    if parts.username or parts.password:
        raise ValueError("a password does not belong into a file: name a variable with a token in `token_env`")
    return url
