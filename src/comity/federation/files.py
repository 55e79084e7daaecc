"""A federation is a directory of YAML files: domains, contracts, profiles. What a file holds is told by its first
key. Profiles may also be text or RDL. A directory inside it that has a file `federation: NAME` of its own is a
federation inside the federation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from comity.bulk import collection_paused
from comity.connect.specs import SinkSpec, SourceSpec
from comity.document import DataDocument, Document, did_you_mean, read_document, validate
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.taxonomy import Taxonomy
from comity.expression.extensions import ExtensionFunction, installed_functions
from comity.federation.build import documents_of, profile_data, said_with_profiles
from comity.federation.concepts import misfits, names_concepts
from comity.federation.contracts import ContractReader, read_contract
from comity.federation.endpoints import read_sinks, read_sources
from comity.federation.model import CompositeSubscription, Contract, Domain, Federation, Subscription
from comity.federation.names import Names
from comity.federation.nested import FEDERATION_NAMES, areas, by_folder, observed_at_boundaries
from comity.federation.parties import Party
from comity.federation.remote import RemoteFederation
from comity.federation.schema import DOMAIN_KEYS, CodesFile, FederationFile, RatesFile
from comity.federation.subscriptions import ProfileReader
from comity.federation.tables import code_tables, read_csv
from comity.federation.text_profiles import is_profile_text, subscriber_of, text_profile_files
from comity.language.comity import YAML_SUFFIXES
from comity.language.files import scan_profiles
from comity.meaning.builtin import builtin
from comity.meaning.ontology import Ontology
from comity.meaning.ontology_file import read_ontology
from comity.meaning.rates import Rates
from comity.meaning.units import check_unit
from comity.profile.entries import scan_entries
from comity.storage.access import StorageAccess
from comity.storage.place import is_address, local_path

_RESERVED = ("rejected", "dead-letters", "late", "quarantine")
"""Names that a domain may not have: folders of results are named after domains."""
_OF_LACKING_NAMES = ("unknown-domain", "unknown-type", "unknown-contract", "bad-founders")
NODE_FILE = "node.yaml"
"""Beside the files of a federation: how a node serves it. It is no part of what they say."""
ReadDocument = Callable[[Path], Document]
_FIRST_KEYS = ("domain", "contract", "profiles", "rates", "codes", "federation")


@collection_paused()
def load(
    given: str | Path | AbstractMapping[str, Any],
    *,
    folder: str | Path | None = None,
    access: StorageAccess | None = None,
) -> Federation:
    """The federation in a directory, or in a mapping that says the same; raises `Faults` with all that is wrong.

    The paths in a mapping begin in `folder`, the one of this process by default. A directory may also be named by the
    address of one in a store, which is reached as `access` says, or else the environment.

    >>> north = {"types": {"Fire": {"attributes": {"heat": "float degC"}}}}
    >>> hot = {"domain": "north", "on": "Fire", "where": "heat > 40 degC"}
    >>> load({"federation": "houses", "domains": {"north": north}, "profiles": {"hot": hot}}).name
    'houses'
    """
    if isinstance(given, AbstractMapping):
        base = Path(folder or ".")
        files = documents_of(given, base)
        name = str(given.get("federation", "federation"))
        return _read(list(files), name, base, files.__getitem__, "")
    if is_address(str(given)):
        return load_remote(RemoteFederation(str(given), access or StorageAccess.of({})))
    root = local_path(str(given))
    return load_files(federation_files(root), name=root.resolve().name, folder=root)


def load_remote(remote: RemoteFederation) -> Federation:
    """The federation at an address, as its files say now."""
    remote.refresh()
    name = remote.address.rpartition("/")[2]
    with remote.told():
        found = load_files(federation_files(remote.folder), name=name, folder=remote.folder)
    return replace(found, address=remote.address)


def with_profiles(
    federation: Federation, added: AbstractMapping[str, Any] | Iterable[Any] = (), removed: Iterable[str] = ()
) -> Federation:
    """The federation with other profiles: those that are there change, some are gone; its files stay as they are."""
    said = said_with_profiles(federation.said, profile_data(added), set(removed))
    base = federation.folder or Path()
    documents = {base / path: DataDocument(data, (), (base / path).parent) for path, data in said.items()}
    texts = [path for path in federation.files if is_profile_text(path)]
    return _read([*sorted(documents), *texts], federation.name, base, documents.__getitem__, "")


def federation_files(root: Path) -> list[Path]:
    """The YAML files that make up the federation of a directory, and the federations inside it."""
    if not root.is_dir():
        raise Misuse("this is not a directory", code="no-such-directory", place=Place(str(root)))
    found = (path for path in root.rglob("*") if path.suffix in YAML_SUFFIXES and path.is_file())
    paths = sorted(path for path in found if path != root / NODE_FILE)
    if not paths:
        raise Misuse("there is no YAML file in it", code="no-federation-files", place=Place(str(root)))
    return paths


def load_files(
    paths: Iterable[Path], *, name: str, folder: Path | None = None, instead: AbstractMapping[Path, Path] | None = None
) -> Federation:
    """The federation that these files make up, and the texts of profiles that are in the folder.

    `instead` names files to read in place of some of them.
    """
    texts = [] if folder is None else text_profile_files(folder)
    others = instead or {}
    return _read([*paths, *texts], name, folder, lambda path: read_document(others.get(path, path)), "")


def _read(paths: list[Path], name: str, folder: Path | None, document: ReadDocument, inside: str) -> Federation:
    own, nested = by_folder(paths, folder)
    reader = _Reader(name, document, folder, inside)
    for path in own:
        reader.take_file(path)
    count = len(reader.faults)
    for below, files in nested.items():
        reader.guarded(partial(reader.take_federation, below, files))
    return reader.federation(lacks_some=len(reader.faults) > count)


@dataclass(slots=True)
class _Reader:
    """Gathers files and faults; what builds on others (contracts, then profiles) is read after them."""

    name: str
    document: ReadDocument
    folder: Path | None = None
    inside: str = ""
    """What stands before the names of its contracts when it is inside another federation."""
    faults: list[ComityError] = field(default_factory=list)
    domains: dict[str, Domain] = field(default_factory=dict)
    contracts: dict[str, Contract] = field(default_factory=dict)
    profiles: dict[str, Subscription] = field(default_factory=dict)
    composites: dict[str, CompositeSubscription] = field(default_factory=dict)
    sources: list[SourceSpec] = field(default_factory=list)
    sinks: list[SinkSpec] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """What was read beside the YAML files."""
    said: dict[Path, Any] = field(default_factory=dict)
    """By path in the folder, what each YAML file says."""
    _file: tuple[Document, FederationFile] | None = None
    _names: Names = field(default_factory=lambda: Names(functions=installed_functions()))
    _functions: dict[str, ExtensionFunction] = field(default_factory=dict)
    """Those of all contracts, which profiles may call."""
    _typed: list[tuple[Document, Taxonomy]] = field(default_factory=list)
    _parties: dict[str, Party] = field(default_factory=dict)
    _nested: dict[str, Federation] = field(default_factory=dict)
    _contract_files: list[Document] = field(default_factory=list)
    _profile_files: list[Document] = field(default_factory=list)
    _profile_texts: list[Path] = field(default_factory=list)

    def take_file(self, path: Path) -> None:
        if is_profile_text(path):
            self._profile_texts.append(path)
            self.files.append(path)
            return
        document = self.guarded(lambda: self.document(path))
        if document is None:
            return
        self.said[self._in_folder(path)] = document.data
        keys = document.data if isinstance(document.data, dict) else {}
        kind = next((key for key in _FIRST_KEYS if key in keys), None)
        match kind:
            case "contract":
                self._contract_files.append(document)
            case "profiles":
                self._profile_files.append(document)
            case None:
                hint = f"its first key is one of {', '.join(_FIRST_KEYS)}"
                self.faults.append(document.fault("this is no federation file", (), code="unknown-file", hint=hint))
            case _:
                self.guarded(partial(getattr(self, f"_take_{kind}"), document))

    def _in_folder(self, path: Path) -> Path:
        return path.relative_to(self.folder) if self.folder and self.folder in path.parents else Path(path.name)

    def federation(self, *, lacks_some: bool = False) -> Federation:
        """What the files say; `lacks_some` when a federation inside could not be read."""
        self.guarded(self._check_concepts)
        before = len(self.faults)
        for document in self._contract_files:
            self.guarded(partial(self._take_contract, document))
        self.guarded(self._close_boundaries)
        self._take_profiles()
        boundary = self._boundary()
        if lacks_some:  # names that seem to be unknown may be those inside
            self.faults[before:] = [one for one in self.faults[before:] if one.code not in _OF_LACKING_NAMES]
        if self.faults:
            raise Faults(self.faults)
        return Federation(
            self.name,
            self.domains,
            self.contracts,
            self.profiles,
            tuple(self.sources),
            tuple(self.sinks),
            self.folder,
            self.composites,
            boundary,
            tuple(self._nested),
            tuple(self.files),
            self.said,
        )

    def guarded(self, read: Callable[[], Any]) -> Any:
        """The result, or None with the fault kept, so that reading goes on."""
        try:
            return read()
        except Faults as found:
            self.faults += found.errors
        except ComityError as error:
            self.faults.append(error)
        return None

    # What stands by itself

    def _take_federation(self, document: Document) -> None:
        content = validate(document, FederationFile)
        if self._file is not None:
            message = f"the federation is called {self.name!r} in another file, too"
            raise document.fault(message, ("federation",), code="duplicate-federation")
        if self.inside and not content.federation.isidentifier():
            hint = "use letters, digits and underscores, and no digit in front"
            message = f"{content.federation!r} cannot name a federation inside another one"
            raise document.fault(message, ("federation",), code="bad-name", hint=hint)
        self._file, self.name = (document, content), content.federation
        if self.inside:
            self.inside = f"{self.inside.rpartition('.')[0].rpartition('.')[0]}.{self.name}.".lstrip(".")

    def _take_domain(self, document: Document) -> None:
        self._check_reserved(document)
        taxonomy = Taxonomy.from_document(document, ignore=DOMAIN_KEYS, check_unit=check_unit)
        if taxonomy.namespace in self.domains:
            raise document.fault(f"there are two domains {taxonomy.namespace!r}", ("domain",), code="duplicate-domain")
        published = self.guarded(lambda: _published(document, taxonomy))
        domain = Domain(taxonomy.namespace, taxonomy, document.data.get("description"), published)
        self.domains[domain.name] = domain
        self._typed.append((document, taxonomy))
        self._parties[domain.name] = Party.of_domain(domain)
        self.sources += self.guarded(lambda: read_sources(document, taxonomy.namespace)) or ()
        self.sinks += self.guarded(lambda: read_sinks(document, taxonomy.namespace)) or ()

    def _check_reserved(self, document: Document) -> None:
        name = document.data["domain"]
        if name in _RESERVED:
            raise document.fault(f"the name {name!r} is reserved", ("domain",), code="reserved-name")

    def _take_rates(self, document: Document) -> None:
        content = validate(document, RatesFile)
        if content.file is not None:
            path = document.folder / content.file
            self.files.append(path)
            found = Rates.read(path)
        else:
            found = self._rates_of(document, content)
        if self._names.rates is not None:
            raise document.fault("there are two files of rates", ("rates",), code="duplicate-rates", key=True)
        self._names = replace(self._names, rates=found)

    def _rates_of(self, document: Document, content: RatesFile) -> Rates:
        try:
            return Rates.of(row.cells for row in content.rows or ())
        except (Faults, Misuse) as error:
            found = error.errors if isinstance(error, Faults) else [error]
            raise Faults([_in_row(document, one) for one in found]) from None

    def _take_codes(self, document: Document) -> None:
        content = validate(document, CodesFile)
        if content.file is not None:
            path = document.folder / content.file
            self.files.append(path)
            header, rows = read_csv(path)
            found = code_tables(header, [row for _, row in rows])
        else:
            columns = list(dict.fromkeys(name for row in content.rows or () for name in row))
            found = code_tables(columns, [[row.get(name, "") for name in columns] for row in content.rows or ()])
        self._names = replace(self._names, codes={**self._names.codes, **found})

    # Federations inside

    def take_federation(self, folder: Path, files: list[Path]) -> None:
        """Read a federation that is inside this one; its domains, contracts and profiles become part of this one."""
        found = _read(files, folder.name, folder, self.document, f"{self.inside}{folder.name}.")
        own = next(path for path in files if path.name in FEDERATION_NAMES and path.parent == folder)
        place = self.document(own).place(("federation",))
        if found.name in self._nested or found.name in self.domains:
            raise Misuse(f"the name {found.name!r} is taken", code="duplicate-domain", place=place)
        for name in found.domains.keys() & self.domains.keys():
            message = f"there are two domains {name!r}, one of them in {found.name}"
            hint = "domains of a federation and of those inside it have different names"
            self.faults.append(Misuse(message, code="duplicate-domain", place=place, hint=hint))
        for name in (found.profiles.keys() | found.composites.keys()) & (self.profiles.keys() | self.composites.keys()):
            message = f"there are two profiles {name!r}, one of them in {found.name}"
            self.faults.append(Misuse(message, code="duplicate-profile", place=place))
        self._nested[found.name] = found
        self._parties[found.name] = Party.of_federation(found.name, found, f"{self.inside}{found.name}.")
        inside = {name: _inside(one, found.name) for name, one in found.domains.items()}
        self.domains.update(inside)
        self.contracts.update(found.contracts)
        self.profiles.update(found.profiles)
        self.composites.update(found.composites)
        self.sources += found.sources
        self.sinks += found.sinks
        self.files += found.files
        self.said |= {self._in_folder(folder / path): data for path, data in found.said.items()}

    def _close_boundaries(self) -> None:
        """What a federation inside observes becomes a contract type there: it has a member more."""
        own = [contract for contract in self.contracts.values() if self._is_own(contract)]
        self.contracts.update(observed_at_boundaries(own, self.contracts, self._nested))

    def _is_own(self, contract: Contract) -> bool:
        return contract.federation == (self.inside.rstrip(".") or None)

    def _boundary(self) -> tuple[str, ...]:
        if self._file is None:
            return ()
        document, content = self._file
        for at, name in enumerate(content.boundary):
            if self.inside + name not in self.contracts:
                known = [one.name.removeprefix(self.inside) for one in self.contracts.values() if self._is_own(one)]
                hint = did_you_mean(name, known) or f"contracts: {', '.join(known)}"
                message = f"there is no contract {name!r}"
                self.faults.append(document.fault(message, ("boundary", at), code="unknown-contract", hint=hint))
        return tuple(content.boundary)

    # What builds on others

    def _check_concepts(self) -> None:
        meant = [(document, taxonomy) for document, taxonomy in self._typed if names_concepts(taxonomy)]
        own = self._file[1].ontology if self._file else None
        if not meant and own is None:
            return
        ontology = builtin()
        if own is not None and self._file is not None:
            path = self._file[0].folder / own
            self.files.append(path)
            ontology = _read_ontology(path, ontology)
        for document, taxonomy in meant:
            self.faults += misfits(document, taxonomy, ontology)

    def _take_contract(self, document: Document) -> None:
        name = document.data.get("contract")
        if f"{self.inside}{name}" in self.contracts or name in self._parties:
            raise document.fault(f"the name {name!r} is taken", ("contract",), code="duplicate-contract")
        reader = ContractReader(document, self._parties, self.contracts, self._names, self.name, self.inside)
        try:
            contract = read_contract(reader)
        finally:
            self.files += reader.files
        self.contracts[contract.name] = contract
        self._functions.update(reader.names.functions)

    def _take_profiles(self) -> None:
        own = {one.name.removeprefix(self.inside): one for one in self.contracts.values() if self._is_own(one)}
        mine = {name: one for name, one in self.domains.items() if one.federation is None}
        reader = ProfileReader(
            mine,
            own,
            areas(self.domains),
            replace(self._names, functions={**self._names.functions, **self._functions}),
            dict(self.profiles),
            dict(self.composites),
        )
        for document in self._profile_files:
            self.guarded(partial(self._take_entries, document, reader))
        for path in self._profile_texts:
            self.guarded(partial(self._take_text, path, reader))
        self.faults += reader.faults
        self.profiles, self.composites = reader.simple, reader.composite

    def _take_entries(self, document: Document, reader: ProfileReader) -> None:
        reader.take(scan_entries(document))

    def _take_text(self, path: Path, reader: ProfileReader) -> None:
        domain = subscriber_of(path, self.folder, reader.domains)
        reader.take(scan_profiles(path, reader.types_of(domain)), domain)


def _in_row(document: Document, error: ComityError) -> ComityError:
    """A fault of a rate that is written in place, where its row stands."""
    number = (error.place.path or "").removeprefix("row ") if error.place else ""
    path = ("rows", int(number) - 1) if number.isdigit() else ("rows",)
    return document.fault(error.message, path, code=error.code, hint=error.hint)


def _inside(domain: Domain, federation: str) -> Domain:
    return replace(domain, federation=f"{federation}.{domain.federation}" if domain.federation else federation)


def _read_ontology(path: Path, onto: Ontology) -> Ontology:
    if path.suffix in YAML_SUFFIXES:
        return read_ontology(path, onto=onto)
    from comity.meaning.rdf import read_turtle  # what reads Turtle takes long to load

    return read_turtle(path, onto=onto)


def _published(document: Document, taxonomy: Taxonomy) -> frozenset[str] | None:
    """The types that a domain publishes; None for all of them."""
    given = document.data.get("publish")
    if given is None:
        return None
    if not isinstance(given, list):
        raise document.fault("`publish` is a list of types", ("publish",), code="bad-value")
    for at, name in enumerate(given):
        if not isinstance(name, str) or taxonomy.find(name) is None:
            hint = did_you_mean(str(name), [one.name for one in taxonomy.types])
            raise document.fault(f"unknown type `{name}`", ("publish", at), code="unknown-type", hint=hint)
    return frozenset(taxonomy.type(name).name for name in given)
