"""Who a request is of: subscribers and publishers, by name and password, or by a token."""

from __future__ import annotations

import base64
import binascii
import re
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from comity.errors import ComityError, Misuse
from comity.node.passwords import Passwords, check_password, new_token, token_digest
from comity.server.store.desk import Desk
from comity.server.store.sqlite import SqliteStore

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_MICROSECONDS = 1_000_000


class NotAllowed(ComityError):
    """Whoever asks is not who they say, or may not do this; which of these is not told."""

    def __init__(self) -> None:
        hint = "log in again; a wrong password and an unknown name are told alike"
        super().__init__("name, password or token is wrong", code="not-allowed", hint=hint)


@dataclass(frozen=True, slots=True)
class LoginToken:
    """A token, and for how many seconds it is good."""

    name: str
    token: str
    expires_s: int


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the header `Authorization` says: a name and a password, or a token."""

    name: str = ""
    secret: str = ""
    is_token: bool = False

    @classmethod
    def of_header(cls, header: str | None) -> Credentials:
        """Those in a header; raises `NotAllowed` where there are none.

        >>> Credentials.of_header("Basic YWRhOmVuaWdtYQ==").name, Credentials.of_header("Bearer abc").is_token
        ('ada', True)
        """
        scheme, _, rest = (header or "").partition(" ")
        if scheme.lower() == "bearer" and rest:
            return cls(secret=rest.strip(), is_token=True)
        if scheme.lower() != "basic":
            raise NotAllowed
        try:
            name, colon, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            raise NotAllowed from None
        if not colon:
            raise NotAllowed
        return cls(name, password)

    def __repr__(self) -> str:
        return f"Credentials({self.name!r}, ***)"


class ClientAccounts:
    """Registers, logs in, and tells who a request is of."""

    def __init__(
        self,
        store: SqliteStore,
        passwords: Passwords,
        services: Mapping[str, str],
        token_s: int,
        clock: Callable[[], float],
    ) -> None:
        self._store, self._passwords, self._token_s, self._clock = store, passwords, token_s, clock
        self._services = {token_digest(token): name for name, token in services.items()}

    async def who(self, given: Credentials) -> str:
        """The name of whoever has these credentials; raises `NotAllowed`."""
        if given.is_token:
            digest = token_digest(given.secret)
            name = self._services.get(digest) or await self._store.look(lambda base: self._of_token(base, digest))
        else:
            known = await self._store.look(lambda base: _hash_of(base, given.name))
            name = given.name if await self._passwords.is_right(given.secret, known) else None
        if name is None:
            raise NotAllowed
        return name

    async def register(self, name: str, password: str) -> bool:
        """Make an account, or find that it is there with this password; whether it is new. Raises `NotAllowed`."""
        if _NAME.fullmatch(name) is None:
            hint = "use up to 100 letters, digits, dots, hyphens and underscores"
            raise Misuse(f"{name[:120]!r} cannot name a subscriber", code="bad-name", hint=hint)
        check_password(password)
        if name in self._services.values():
            raise NotAllowed
        hashed = await self._passwords.hashed(password)
        if await self._store.within(lambda desk: _insert(desk, name, hashed)):
            return True
        await self.who(Credentials(name, password))
        return False

    async def log_in(self, name: str) -> LoginToken:
        """A token for somebody who is known."""
        token, expires = new_token(), int((self._clock() + self._token_s) * _MICROSECONDS)
        row = (token_digest(token), name, expires)
        await self._store.within(lambda desk: _keep_token(desk, row, int(self._clock() * _MICROSECONDS)))
        return LoginToken(name, token, self._token_s)

    async def log_out(self, given: Credentials) -> None:
        """Let a token be good no longer."""
        delete = "delete from token where digest = ?"
        if given.is_token:
            await self._store.within(lambda desk: desk.database.execute(delete, (token_digest(given.secret),)) and None)

    def _of_token(self, base: sqlite3.Connection, digest: bytes) -> str | None:
        select = "select name from token where digest = ? and expires_us > ?"
        row = base.execute(select, (digest, int(self._clock() * _MICROSECONDS))).fetchone()
        return None if row is None else str(row[0])


def _hash_of(base: sqlite3.Connection, name: str) -> str | None:
    row = base.execute("select hash from subscriber where name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def _insert(desk: Desk, name: str, hashed: str) -> bool:
    insert = "insert or ignore into subscriber values (?, ?, ?)"
    return desk.database.execute(insert, (name, hashed, desk.at_us)).rowcount == 1


def _keep_token(desk: Desk, row: tuple[bytes, str, int], now_us: int) -> None:
    desk.database.execute("delete from token where expires_us <= ?", (now_us,))
    desk.database.execute("insert into token values (?, ?, ?)", row)
