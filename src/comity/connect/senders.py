"""Who sends: tokens, each of a named sender, taken from the environment or from files, never from what is shared."""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from comity.errors import Misuse, Place


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a request. One without a name gave the token that all share; an unknown one gave none."""

    name: str | None = None
    is_known: bool = True


ANYBODY = Sender(is_known=False)
"""Whoever sends to a source without tokens."""


class Senders:
    """Tells a sender by the header `Authorization: Bearer TOKEN`.

    >>> Senders({"alarm_panel": "s3cret"}).sender_of("Bearer s3cret").name
    'alarm_panel'
    >>> Senders({"alarm_panel": "s3cret"}).sender_of("Bearer guess") is None
    True
    """

    def __init__(self, tokens: Mapping[str | None, str]) -> None:
        self._digests = [(_digest(f"Bearer {token}"), Sender(name)) for name, token in tokens.items()]

    def sender_of(self, authorization: str | None) -> Sender | None:
        """Who it is, None for a token that nobody has. It takes the same time whichever token is nearest."""
        if not self._digests:
            return ANYBODY
        given = _digest(authorization or "")
        found = None
        for digest, sender in self._digests:
            if hmac.compare_digest(digest, given):
                found = sender
        return found


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="surrogateescape")).digest()


def read_token(env: str | None, file: str | None, base: Path, place: Place) -> str | None:
    """The token in an environment variable or a file, None if neither is named; raises `Misuse` if it is no token."""
    if env is not None:
        found, where, hint = os.environ.get(env, ""), env, f"set {env} before the start"
    elif file is not None:
        path = base / file
        found, where, hint = _content(path, place), str(path), "write the token into it, in one line"
    else:
        return None
    token = found.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Misuse(f"there is no token in {where}", code="missing-token", place=place, hint=hint)
    return token


def _content(path: Path, place: Place) -> str:
    try:
        with path.open(encoding="ascii", errors="replace") as stream:
            return stream.read(8_192)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise Misuse(message, code="missing-token", place=place, hint="write the token into it, in one line") from error
