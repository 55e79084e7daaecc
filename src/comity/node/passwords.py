"""Passwords and tokens. What is kept is a hash; what is compared takes the same time whoever asks, known or not."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from comity.errors import Misuse, Retryable
from comity.limits import limits

if TYPE_CHECKING:
    from argon2 import PasswordHasher

T = TypeVar("T")
_TOKEN_BYTES = 32


class Passwords:
    """Hashes passwords with argon2 in a thread, one at a time: each takes memory, and tens of milliseconds."""

    def __init__(self) -> None:
        self._hasher = _hasher()
        self._threads = ThreadPoolExecutor(1, "comity-passwords")
        self._nobody = self._hasher.hash(secrets.token_hex(_TOKEN_BYTES))
        self._waiting = 0

    async def hashed(self, password: str) -> str:
        """What is kept of a password."""
        return await self._in_thread(partial(self._hasher.hash, password))

    async def is_right(self, password: str, known: str | None) -> bool:
        """Whether a password is the one of a hash; without a hash it is wrong, after as long a time."""
        right = await self._in_thread(partial(_verified, self._hasher, known or self._nobody, password))
        return right and known is not None

    def close(self) -> None:
        """End the thread."""
        self._threads.shutdown(cancel_futures=True)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._waiting >= limits().max_waiting_passwords:
            raise Retryable("too many others log in", code="busy", hint="try again in a second, or use a token")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


def _verified(hasher: PasswordHasher, known: str, password: str) -> bool:
    from argon2.exceptions import VerificationError

    try:
        return hasher.verify(known, password)
    except VerificationError:
        return False


def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError as error:
        hint = "install comity[node]"
        raise Misuse("an event server needs argon2-cffi", code="missing-extra", hint=hint) from error
    return PasswordHasher()


def new_token() -> str:
    """A text that nobody can guess."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def token_digest(token: str) -> bytes:
    """What is kept of a token, and found by: it is long and random, so a plain digest does.

    >>> len(token_digest("abc"))
    32
    """
    return sha256(token.encode(errors="surrogateescape")).digest()


def check_password(password: str) -> None:
    """Refuse what cannot be a password, or is none."""
    if not limits().min_password_chars <= len(password) <= limits().max_password_chars:
        least, most = limits().min_password_chars, limits().max_password_chars
        raise Misuse(f"a password has {least} to {most} characters", code="bad-password", hint="take a longer one")
