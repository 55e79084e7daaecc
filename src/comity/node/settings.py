"""What a node is told: its domain, from the files of that, and how it serves, from `node.yaml` beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

from comity.connect.http.certificate import Certificate
from comity.connect.senders import read_token
from comity.document import Document, did_you_mean, read_document, validate
from comity.errors import Misuse, Place
from comity.event.taxonomy import Taxonomy
from comity.federation.files import NODE_FILE, load
from comity.federation.model import Domain, Federation
from comity.node.schema import NodeFile
from comity.server.settings import Address

DEFAULT_LISTEN = Address("127.0.0.1", 8700)
STORE = "store"


@dataclass(frozen=True, slots=True)
class EventServerSettings:
    """An event server: whose it is, where it listens and keeps, and for how long."""

    taxonomy: Taxonomy
    listen: Address = DEFAULT_LISTEN
    store: Path = Path(STORE)
    history_s: Mapping[str, int] = field(default_factory=dict)
    """For how many seconds events are kept that can be asked for again, by type."""
    default_history_s: int = 86_400
    lateness_us: int = 2_000_000
    """How far behind the clock an event may come and still be part of composite rules."""
    token_s: int = 86_400
    is_open: bool = True
    """Whether anybody may register."""
    registration: str | None = field(default=None, repr=False)
    """A token by which somebody may register otherwise."""
    services: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Tokens by the names of those who have them."""
    certificate: Certificate | None = None

    @property
    def kept_s(self) -> int:
        """How long the log is kept: as long as that of any type."""
        return max((self.default_history_s, *self.history_s.values()))

    def history_of(self, type: str) -> int:
        """For how many seconds the events of a type can be asked for."""
        return self.history_s.get(type, self.default_history_s)


def read_settings(folder: Path, listen: Address | None = None, store: str | None = None) -> EventServerSettings:
    """The settings in a folder, where the arguments say nothing else; raises `Misuse` with all that is wrong."""
    taxonomy = _domain(folder, load(folder)).taxonomy
    path = folder / NODE_FILE
    found = EventServerSettings(taxonomy, store=folder / STORE)
    document = read_document(path) if path.is_file() else None
    if document is not None:
        found = _of_file(document, validate(document, NodeFile), found)
    if listen is not None:
        found = replace(found, listen=listen)
    if store is not None:
        found = replace(found, store=_store(store, Path()))
    if document is None or "register" not in document.data:
        _check_loopback(found.listen, path)
    return found


def check_node_file(path: Path) -> None:
    """Raise `Faults` with what is wrong with a `node.yaml`, but for files that only the machine of the node has."""
    validate(read_document(path), NodeFile)


def _domain(folder: Path, federation: Federation) -> Domain:
    if len(federation.domains) != 1 or federation.contracts:
        hint = "a node serves one domain; keep contracts, and other domains, in folders of their own"
        reason = f"there are {len(federation.domains)} domains and {len(federation.contracts)} contracts in it"
        raise Misuse(reason, code="not-one-domain", place=Place(str(folder)), hint=hint)
    carried_out = {"profiles": len(federation.profiles) + len(federation.composites)}
    carried_out |= {"sources": len(federation.sources), "sinks": len(federation.sinks)}
    for what, count in carried_out.items():
        if count:
            hint = "clients of a node bring these over HTTP, or run the folder with `comity run`"
            reason = f"a node carries out no {what} of files, and there are {count} here"
            raise Misuse(reason, code="not-served", place=Place(str(folder)), hint=hint)
    return next(iter(federation.domains.values()))


def _of_file(document: Document, content: NodeFile, found: EventServerSettings) -> EventServerSettings:
    services = {
        name: token
        for name, one in content.tokens.items()
        if (token := read_token(one.env, one.file, document.folder, document.place(("tokens", name)))) is not None
    }
    shared = content.register_
    registration = None
    if not isinstance(shared, str):
        registration = read_token(shared.env, shared.file, document.folder, document.place(("register",)))
    return replace(
        found,
        listen=found.listen if content.listen is None else content.listen,
        store=found.store if content.store is None else _store(content.store, document.folder),
        history_s=_history(content, found.taxonomy, document),
        default_history_s=content.history.default // 1_000_000,
        lateness_us=content.lateness,
        token_s=content.logins // 1_000_000,
        is_open=shared == "anybody",
        registration=registration,
        services=services,
        certificate=_certificate(content, document.folder),
    )


def _history(content: NodeFile, taxonomy: Taxonomy, document: Document) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, length in content.history.types.items():
        type = taxonomy.find(name)
        if type is None:
            hint = did_you_mean(name, [one.name for one in taxonomy.types])
            place = ("history", "types", name)
            raise document.fault(f"unknown type `{name}`", place, code="unknown-type", key=True, hint=hint)
        found[type.qualified_name] = length // 1_000_000
    return found


def _store(given: str, folder: Path) -> Path:
    if "://" in given:
        hint = "name a folder; other stores are not served yet"
        raise Misuse(f"{given[:60]!r} is no folder", code="unknown-store", hint=hint)
    return folder / given


def _certificate(content: NodeFile, folder: Path) -> Certificate | None:
    if content.tls is None:
        return None
    key = content.tls.key
    return Certificate(folder / content.tls.certificate, None if key is None else folder / key)


def _check_loopback(listen: Address, path: Path) -> None:
    """Whoever lets other machines in says who may register."""
    try:
        is_here = ip_address(listen.host).is_loopback
    except ValueError:
        is_here = listen.host == "localhost"
    if not is_here:
        hint = "write `register: anybody`, `register: nobody`, or `register: {file: FILE}` with a token into node.yaml"
        reason = "who may register at a node that other machines reach has to be said"
        raise Misuse(reason, code="open-registration", place=Place(str(path)), hint=hint)
