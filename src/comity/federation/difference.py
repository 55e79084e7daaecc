"""The difference between two versions of a federation, and what it breaks.

What breaks is found by trying: the old mappings and profiles are loaded with the new types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from comity.contract.change import Effect, VersionChange, changes, contract_changes, next_version
from comity.document import read_document
from comity.errors import Faults, Misuse, Place
from comity.event.types import EventType
from comity.federation.files import federation_files, load
from comity.federation.model import Contract, Domain, Federation
from comity.federation.nested import FEDERATION_NAMES
from comity.federation.trial import Data, Misfit, Trial
from comity.federation.unit_meaning import changed_meanings


@dataclass(frozen=True, slots=True)
class Broken:
    """Somebody whom the change breaks."""

    role: str
    name: str
    reason: str
    contract: str | None = None
    mended: bool = False
    """Whether the new version has it in a form that fits."""

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        told = {"role": self.role, "name": self.name, "contract": self.contract, "reason": self.reason}
        return {key: value for key, value in told.items() if value is not None} | {"mended": self.mended}


@dataclass(frozen=True, slots=True)
class Version:
    """Which number a contract that changed has, and which it should have."""

    contract: str
    old: int
    new: int
    suggested: int
    migrated: bool
    """Whether the new file has the old version under `earlier`."""
    breaks: bool

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {name: getattr(self, name) for name in ("contract", "old", "new", "suggested", "migrated", "breaks")}


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed, and whom it breaks."""

    changes: tuple[VersionChange, ...]
    broken: tuple[Broken, ...]
    versions: tuple[Version, ...]

    @property
    def breaks(self) -> bool:
        """Whether the change has to be refused: somebody is left broken, or a contract changed without a migration."""
        left = any(not one.mended for one in self.broken)
        return left or any(one.breaks and not one.migrated for one in self.versions)

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "breaks": self.breaks,
            "changes": [one.as_dict() for one in self.changes],
            "broken": [one.as_dict() for one in self.broken],
            "versions": [one.as_dict() for one in self.versions],
        }


def difference(old: Path, new: Path) -> Difference:
    """The difference between two folders, or between two files of one contract; the files belong to the federation
    around the old one.
    """
    if old.is_dir() != new.is_dir():
        hint = "name two folders, or two files of one contract"
        raise Misuse("one is a folder and the other is not", code="bad-usage", place=Place(str(new)), hint=hint)
    before, after = (Trial.of(old), Trial.of(new)) if old.is_dir() else _of_files(old, new)
    old_federation = _loaded(before)
    new_federation = _loaded_but_for_parties(after, new)
    failed = {(one.role, one.name, one.contract) for one in after.failures}
    found = list(_changes(old_federation, new_federation, before, after))
    versions = tuple(_versions(old_federation, new_federation, before, after, found))
    broken = [
        replace(one, mended=_is_mended(one, failed, after)) for one in _broken(old_federation, before, after, versions)
    ]
    lost = {(one.contract, one.name) for one in broken if one.role == "observer" and not one.mended}
    broken += _silenced(old_federation, found, lost)
    return Difference(tuple(found), tuple(dict.fromkeys(broken)), versions)


def _loaded(trial: Trial) -> Federation:
    """The old federation, which must be sound."""
    if len(trial.folders) == 1:
        return load(trial.folders[0])
    found = trial.load()
    if trial.failures:
        faults = [Misuse(one.reason, code="does-not-load", place=Place(str(one.file))) for one in trial.failures]
        raise Faults([*faults])
    return found


def _loaded_but_for_parties(trial: Trial, path: Path) -> Federation:
    """The new federation; members, observers and profiles may fail, but nothing else."""
    try:
        return trial.load(only_parties=True)
    except Faults:
        if path.is_dir():
            load(path)  # it fails, too, and knows the lines of the files
        raise


def _of_files(old: Path, new: Path) -> tuple[Trial, Trial]:
    """The federation around two files of a contract, with the one and with the other."""
    data = {path: read_document(path).data for path in (old, new)}
    for path, content in data.items():
        if not isinstance(content, dict) or "contract" not in content:
            hint = "its first key is `contract`"
            raise Misuse("this is no contract file", code="not-a-contract", place=Place(str(path)), hint=hint)
    root = next(
        (one for one in old.resolve().parents if any((one / name).is_file() for name in FEDERATION_NAMES)), None
    )
    if root is None:
        hint = "put it into the folder of a federation, or compare two folders"
        raise Misuse("no federation.yaml above this file", code="no-federation", place=Place(str(old)), hint=hint)
    skipped = {old.resolve(), new.resolve()}
    rest = {
        path.relative_to(root): read_document(path).data
        for path in federation_files(root)
        if path.resolve() not in skipped
    }
    place = old.resolve().relative_to(root)
    folders = (root, new.resolve().parent)
    return tuple(Trial(folders, {**deepcopy(rest), place: data[path]}) for path in (old, new))  # type: ignore[return-value]


# What changed


def _changes(old: Federation, new: Federation, before: Trial, after: Trial) -> Iterator[VersionChange]:
    for name, domain in old.domains.items():
        other = new.domains.get(name)
        if other is None:
            yield VersionChange(name, "domain-removed", Effect.BREAKING, f"the domain {name} is gone")
        else:
            yield from _domain_changes(domain, other)
    for name in new.domains.keys() - old.domains.keys():
        yield VersionChange(name, "domain-added", Effect.ADDITIVE, f"the domain {name} is new")
    yield from _all_contract_changes(before, after, old, new)
    yield from _profile_changes(_profiles(before), _profiles(after))


def _domain_changes(old: Domain, new: Domain) -> Iterator[VersionChange]:
    types = {one.name: one for one in new.taxonomy.types}
    for one in old.taxonomy.types:
        if one.name in types:
            yield from changes(one, types[one.name])
        else:
            yield VersionChange(one.qualified_name, "type-removed", Effect.BREAKING, f"the type {one.name} is gone")
    for name in types.keys() - {one.name for one in old.taxonomy.types}:
        yield VersionChange(f"{new.name}.{name}", "type-added", Effect.ADDITIVE, f"the type {name} is new")
    for one in old.taxonomy.types:
        if old.publishes(one) and one.name in types and not new.publishes(one):
            text = f"the type {one.name} is no longer published"
            yield VersionChange(one.qualified_name, "type-withdrawn", Effect.BREAKING, text)


def _all_contract_changes(before: Trial, after: Trial, old: Federation, new: Federation) -> Iterator[VersionChange]:
    files, later = _contracts(before), _contracts(after)
    for name, (_, data) in files.items():
        if name not in later:
            yield VersionChange(name, "contract-removed", Effect.BREAKING, f"the contract {name} is gone")
            continue
        if name in old.contracts and name in new.contracts:
            yield from _type_changes(old.contracts[name], new.contracts[name])
        for change in contract_changes(name, data, later[name][1]):
            if change.code != "mapping-changed" or not _only_rewritten(change, data, later[name][1], old, new):
                yield change
    for name in later.keys() - files.keys():
        yield VersionChange(name, "contract-added", Effect.ADDITIVE, f"the contract {name} is new")


def _only_rewritten(change: VersionChange, before: Data, after: Data, old: Federation, new: Federation) -> bool:
    """Whether a mapping is written in another way, and says the same."""
    contracts = old.contracts.get(change.where), new.contracts.get(change.where)
    if None in contracts or before.get("tables") != after.get("tables"):
        return False
    said = [
        [(one.source.qualified_name, dict(one.expressions)) for one in parties.get(change.path, ())]
        for contract in contracts
        if contract is not None
        for parties in (contract.members, contract.observers)
    ]
    return said[:2] == said[2:] and any(said)


def _type_changes(old: Contract, new: Contract) -> Iterator[VersionChange]:
    if old.type.name != new.type.name:
        text = f"the type {old.type.name} became {new.type.name}"
        yield VersionChange(old.type.qualified_name, "type-renamed", Effect.BREAKING, text)
    yield from changes(old.type, new.type)


def _profile_changes(old: Mapping[str, Data], new: Mapping[str, Data]) -> Iterator[VersionChange]:
    for name in {**old, **new}:
        if name not in new:
            yield VersionChange(name, "profile-removed", Effect.MEANING, f"the profile {name} is gone")
        elif name not in old:
            yield VersionChange(name, "profile-added", Effect.ADDITIVE, f"the profile {name} is new")
        elif old[name] != new[name]:
            yield VersionChange(name, "profile-changed", Effect.MEANING, f"the profile {name} changed")


def _versions(
    old: Federation, new: Federation, before: Trial, after: Trial, found: list[VersionChange]
) -> Iterator[Version]:
    later = _contracts(after)
    for name, (_, data) in _contracts(before).items():
        contract = old.contracts.get(name)
        own = [one for one in found if contract and one.where in (name, contract.type.qualified_name)]
        if name in later and own:
            number, given = int(data.get("version", 1)), later[name][1]
            own = [one for one in own if one.code not in _OF_PARTIES]  # a version is of what they agreed on
            breaks = any(one.effect is Effect.BREAKING for one in own)
            migrated = number in _earlier(given) and _is_kept(old.contracts[name], new.contracts.get(name), number)
            yield Version(name, number, int(given.get("version", 1)), next_version(number, own), migrated, breaks)


_OF_PARTIES = ("member-added", "member-removed", "observer-added", "observer-removed")
"""Changes that are no change of the contract: who takes part comes and goes."""


def _is_kept(old: Contract, new: Contract | None, number: int) -> bool:
    """Whether what the new file calls the old version is what the old file says."""
    kept = new.earlier.get(number) if new is not None else None
    return kept is None or not changes(old.type, kept)


# Whom it breaks


def _broken(old: Federation, before: Trial, after: Trial, versions: tuple[Version, ...]) -> Iterator[Broken]:
    trial = _with_new_types(before, after, {one.contract for one in versions if one.migrated})
    federation = trial.load()
    for failure in trial.failures:
        yield _as_broken(failure)
    for role, name, contract, reason in changed_meanings(old, federation):
        yield Broken(role, name, reason, contract)


def _as_broken(failure: Misfit) -> Broken:
    return Broken(failure.role, failure.name, failure.reason, failure.contract)


def _with_new_types(before: Trial, after: Trial, migrated: set[str]) -> Trial:
    """The old files, with the types of the new ones; mappings of a contract with a migration keep to their version."""
    files = deepcopy(before.files)
    later, domains = _contracts(after), _by_name(after, "domain")
    for path, data in [*files.items()]:
        if "domain" in data:
            _take(files, path, domains.get(str(data["domain"])), ("types", "publish"))
        elif "contract" in data:
            name, own = before.inside(path) + str(data["contract"]), data
            given = later.get(name, (path, None))[1]
            _take(files, path, given, ("types", "version", "earlier"))
            if given is not None:
                _add_names(own, given)
            if name in migrated:
                _keep_to(own, int(before.files[path].get("version", 1)))
    return Trial((*before.folders, *after.folders), files)


def _take(files: dict[Path, Data], path: Path, given: Data | None, keys: tuple[str, ...]) -> None:
    """Take some keys from the new file; without one, the old file goes."""
    if given is None:
        del files[path]
        return
    for key in keys:
        files[path].pop(key, None)
        if key in given:
            files[path][key] = deepcopy(given[key])


def _add_names(own: Data, given: Data) -> None:
    """Migrations may use tables and functions that are new."""
    for key in ("tables", "functions"):
        if isinstance(given.get(key), dict):
            own[key] = {**given[key], **(own.get(key) or {})}


def _keep_to(data: Data, version: int) -> None:
    for role in ("members", "observers"):
        for given in (data.get(role) or {}).values():
            for one in given if isinstance(given, list) else [given]:
                one.setdefault("version", version)


def _silenced(old: Federation, found: list[VersionChange], lost: set[tuple[str | None, str]]) -> Iterator[Broken]:
    """Profiles that still fit, but hear nothing any more of a contract that their domain can no longer observe."""
    gone = {one.where for one in found if one.code == "contract-removed"}
    lost = lost | {(one.where, one.path) for one in found if one.code == "observer-removed"}
    for name, contract in old.contracts.items():
        for observer, mappings in contract.observers.items():
            if name in gone or (name, observer) in lost:
                types = {mapping.target.qualified_name for mapping in mappings}
                yield from _listening(old, observer, types, contract)


def _listening(old: Federation, domain: str, types: set[str], contract: Contract) -> Iterator[Broken]:
    for one in old.subscriptions():
        if one.domain == domain and not types.isdisjoint(_family(one.type, old)):
            reason = f"hears nothing any more of the contract {contract.name}"
            yield Broken("profile", one.name.partition("/")[0], reason, contract.name)


def _family(type: EventType, federation: Federation) -> set[str]:
    """The type and everything below it."""
    domain = federation.domains.get(type.namespace)
    below = domain.taxonomy.subtypes(type.qualified_name) if domain else (type,)
    return {one.qualified_name for one in below}


def _is_mended(one: Broken, failed: set[tuple[str, str, str | None]], after: Trial) -> bool:
    """Whether the new version says it, too, and says it so that it loads."""
    if (one.role, one.name, one.contract) in failed:
        return False
    if one.role == "profile":
        return one.name in _profiles(after)
    file = _contracts(after).get(one.contract or "")
    return file is not None and (one.role == "contract" or one.name in (file[1].get(f"{one.role}s") or {}))


# Files


def _contracts(trial: Trial) -> dict[str, tuple[Path, Data]]:
    return {name: (path, trial.files[path]) for name, path in trial.contracts().items()}


def _by_name(trial: Trial, key: str) -> dict[str, Data]:
    return {str(data[key]): data for data in trial.files.values() if key in data}


def _profiles(trial: Trial) -> dict[str, Data]:
    files = (data["profiles"] for data in trial.files.values() if isinstance(data.get("profiles"), dict))
    return {str(name): given for profiles in files for name, given in profiles.items()}


def _earlier(data: Data) -> set[int]:
    """The numbers of the earlier versions that a contract file keeps."""
    found = data.get("earlier")
    given = (one.get("version") for one in found if isinstance(one, dict)) if isinstance(found, list) else ()
    return {number for number in given if isinstance(number, int)}
