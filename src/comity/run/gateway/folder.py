"""The folder of a domain, and in it `.gateway`, with its key, who it is, and what its gateway knows."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from msgspec import Struct

from comity.errors import Misuse, Place, Retryable
from comity.gateway.keys import DomainKey, IdentityDocument, check_identity, read_identity
from comity.gateway.messages import GatewayMessage
from comity.gateway.steps import GatewayState
from comity.run.gateway.clock import now
from comity.storage.durable import make_folder, write_whole

NAME = ".gateway"
_INIT = "make it with `comity gateway init`"


class GatewaySettings(Struct, frozen=True):
    """Which federation, by whose authority, and where others are reached."""

    authority: str
    """The public key of the authority."""
    broker: str
    """The address of a broker."""


class GatewayNotes(Struct, frozen=True):
    """What a gateway keeps between two of its commands, in one file, so that it is one thing after a crash."""

    state: GatewayState = GatewayState()
    outbox: tuple[GatewayMessage, ...] = ()
    """Signed, and not yet known to be with the broker."""
    introduced: str = ""
    """The digest of what it told others of its types."""


@dataclass(frozen=True, slots=True)
class GatewayFolder:
    """One that is open: no other command has it at the same time."""

    root: Path
    settings: GatewaySettings
    key: DomainKey
    identity: IdentityDocument
    notes: GatewayNotes

    @property
    def domain(self) -> str:
        """The name of the domain."""
        return self.identity.domain

    def with_notes(self, notes: GatewayNotes) -> GatewayFolder:
        """With other notes, which are on the disk then."""
        write_private(self.root / NAME / "notes.json", msgspec.json.encode(notes))
        return replace(self, notes=notes)


def make_gateway(root: Path, key: DomainKey, identity: IdentityDocument, settings: GatewaySettings) -> None:
    """Let a folder of a domain have a gateway. What is there already is kept, but for who it is and where it meets."""
    check_identity(identity, settings.authority, identity.federation, now())
    if identity.key != key.public:
        raise Misuse("the identity document is for another key", code="bad-identity", hint="sign this public key")
    if not root.is_dir():
        raise Misuse("this is not a directory", code="no-such-directory", place=Place(str(root)))
    folder = root / NAME
    make_folder(folder)
    folder.chmod(0o700)
    write_private(folder / "key", key.as_text().encode() + b"\n")
    write_private(folder / "identity.json", identity.as_text().encode() + b"\n")
    write_private(folder / "settings.json", msgspec.json.encode(settings))


@contextmanager
def open_gateway(root: Path) -> Iterator[GatewayFolder]:
    """The gateway of a folder, for the length of a block."""
    folder = root / NAME
    if not (folder / "settings.json").is_file():
        raise Misuse("this folder has no gateway", code="no-gateway", place=Place(str(root)), hint=_INIT)
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another command works in this folder"
            raise Retryable(reason, code="gateway-busy", place=Place(str(root)), hint="wait until it ends") from None
        yield _opened(root)
    finally:
        os.close(handle)


def _opened(root: Path) -> GatewayFolder:
    folder = root / NAME
    notes = folder / "notes.json"
    try:
        settings = msgspec.json.decode((folder / "settings.json").read_bytes(), type=GatewaySettings)
        known = msgspec.json.decode(notes.read_bytes(), type=GatewayNotes) if notes.exists() else GatewayNotes()
        key = DomainKey.of_text((folder / "key").read_text())
        identity = read_identity((folder / "identity.json").read_text())
    except (OSError, msgspec.DecodeError, UnicodeError) as error:
        hint = "put back a copy of it, or make the gateway anew and let others tell it again what they said"
        raise Misuse(f"the files of the gateway cannot be read: {error}", code="broken-gateway", hint=hint) from error
    check_identity(identity, settings.authority, identity.federation, now())
    return GatewayFolder(root, settings, key, identity, known)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that nobody else may read, as a whole."""
    before = os.umask(0o077)
    try:
        write_whole(path, content)
    finally:
        os.umask(before)
