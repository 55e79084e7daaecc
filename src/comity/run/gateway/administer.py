"""What an administrator wants of the gateway of a domain: to propose contracts, agree, refuse, join and leave."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from comity.document import read_document
from comity.errors import ComityError, Misuse, Place
from comity.federation import load
from comity.gateway.agreements import Agreement, ProposedForm, Revision
from comity.gateway.contract_steps import ContractWord, contract_named, proposal_of, take_word, typename_of
from comity.gateway.messages import (
    ContractConsent,
    ContractDeparture,
    ContractRefusal,
    Declaration,
    Rejection,
)
from comity.gateway.steps import Membership, ToTell
from comity.run.gateway.exchange import ExchangeReport, exchange, told
from comity.run.gateway.folder import NAME, GatewayFolder, open_gateway
from comity.run.gateway.kept_files import keep_proposed, narrowed, published

_ROLES = ("members", "observers")


@dataclass(frozen=True, slots=True)
class Administered:
    """What a command did: the contract as it stands now, and what was heard from others meanwhile."""

    agreement: Agreement
    revision: Revision
    """The form that the command was about."""
    report: ExchangeReport


def synchronise(root: Path) -> tuple[GatewayFolder, ExchangeReport]:
    """Say what waits to be said, and hear what others said."""
    with open_gateway(root) as folder:
        return exchange(folder, member_of(folder))


def propose(root: Path, file: Path) -> Administered:
    """Propose a contract, or another form of one that holds or is proposed. It is checked with our files before."""
    with _current(root) as work:
        declaration = _declared(file)
        name = str(declaration.get("contract", ""))
        before = work.known(name)
        revision = work.revision(declaration, before)
        work.check(revision, Place(str(file)))
        return work.say(revision, [proposal_of(revision), *work.instead_of(before, revision)])


def join(root: Path, name: str, file: Path) -> Administered:
    """Propose a contract with one more party: ourselves, as the file says under `members` or `observers`."""
    with _current(root) as work:
        agreement = contract_named(work.folder.notes.state.facts, name)
        in_force = agreement.in_force()
        if in_force is None:
            raise Misuse(f"the contract {agreement.name} is {agreement.state.value}", code="not-in-force")
        revision = work.revision(_with_part(in_force, _declared(file), work.member.domain, file), agreement)
        work.check(revision, Place(str(file)))
        return work.say(revision, [proposal_of(revision)])


def agree(root: Path, name: str, digest: str = "") -> Administered:
    """Agree to a form that others proposed, if it fits our own files."""
    with _current(root) as work:
        revision = work.awaiting(name, digest).revision
        work.check_own_types(revision)
        work.check(revision, Place(path=revision.contract))
        return work.say(revision, [ContractConsent(**_spoken(revision))])


def refuse(root: Path, name: str, reason: str, digest: str = "") -> Administered:
    """Refuse a form that others proposed, or take back one of ours."""
    with _current(root) as work:
        revision = work.awaiting(name, digest, or_own=True).revision
        return work.say(revision, [ContractRefusal(**_spoken(revision), reason=reason)])


def leave(root: Path, name: str, reason: str = "") -> Administered:
    """Take part in a contract no longer. Nobody has to agree to that."""
    with _current(root) as work:
        agreement = contract_named(work.folder.notes.state.facts, name)
        if agreement.current is None or work.member.domain not in agreement.parties:
            hint = "`comity contract show` says who takes part in what"
            raise Misuse(f"{work.member.domain} has no part in {agreement.name}", code="not-a-party", hint=hint)
        revision = agreement.current
        return work.say(revision, [ContractDeparture(**_spoken(revision), reason=reason)])


@dataclass(slots=True)
class _Work:
    """One command in an open folder, which has heard what others said."""

    folder: GatewayFolder
    member: Membership

    def known(self, name: str) -> Agreement | None:
        """The contract of a name, if there is one."""
        try:
            return contract_named(self.folder.notes.state.facts, name)
        except Misuse as error:
            if error.code == "unknown-contract":
                return None
            raise

    def revision(self, declaration: Declaration, before: Agreement | None) -> Revision:
        """The form that a declaration is, with what its parties publish of the types in it."""
        unbound = Revision(declaration, {})
        domains = {name: self._types_of(name, declaration) for name in sorted(unbound.parties)}
        current = before.current if before is not None else None
        return Revision(declaration, domains, current.digest if current is not None else "")

    def _types_of(self, name: str, declaration: Declaration) -> Declaration:
        if name == self.member.domain:
            return narrowed(self.member.published, _used(declaration, name))
        known = self.folder.notes.state.domains.get(name)
        if known is None:
            heard = ", ".join(sorted(self.folder.notes.state.domains)) or "none"
            hint = f"domains that we have heard of: {heard}; `comity gateway sync` asks for more"
            raise Misuse(f"nobody has told us of a domain {name}", code="unknown-domain", hint=hint)
        return narrowed(known.declaration, _used(declaration, name))

    def check_own_types(self, revision: Revision) -> None:
        """Raises `Misuse` if somebody else says other things of our types than we do."""
        own = revision.domains.get(self.member.domain)
        if own is not None and own != self._types_of(self.member.domain, revision.declaration):
            hint = "propose the contract again, so that it is about the types as they are now"
            raise Misuse("the contract is about other types than we publish", code="types-differ", hint=hint)

    def check(self, revision: Revision, place: Place) -> None:
        """Raises `Faults` unless our files, with this form in force, make a federation."""
        with tempfile.TemporaryDirectory() as scratch:
            trial = Path(scratch) / self.folder.root.resolve().name
            shutil.copytree(self.folder.root, trial, ignore=shutil.ignore_patterns(NAME))
            keep_proposed(trial, self.folder.notes.state, self.member.domain, revision)
            try:
                load(trial)
            except ComityError as error:
                text = str(error).replace(f"{trial}/", "")
                hint = "mend it, and propose it again; or refuse it"
                reason = f"with this contract our files make no federation:\n{text}"
                raise Misuse(reason, code="contract-does-not-fit", place=place, hint=hint) from None

    def awaiting(self, name: str, digest: str, *, or_own: bool = False) -> ProposedForm:
        """The one form that waits for our word."""
        agreement = contract_named(self.folder.notes.state.facts, name)
        own = self.member.domain
        consents = self.folder.notes.state.facts.consents
        found = [
            one
            for one in agreement.proposed
            if one.revision.digest.startswith(digest)
            and not one.refused
            and (own in one.awaits or (or_own and own in consents.get(one.revision.digest, ())))
        ]
        if len(found) == 1:
            return found[0]
        if not found:
            hint = "`comity contract show` says who is waited for"
            raise Misuse(f"no form of {agreement.name} waits for {own}", code="nothing-proposed", hint=hint)
        hint = f"name one with --revision: {', '.join(one.revision.digest[:12] for one in found)}"
        raise Misuse(f"several forms of {agreement.name} are proposed", code="ambiguous-contract", hint=hint)

    def instead_of(self, before: Agreement | None, revision: Revision) -> list[ContractWord]:
        """Refusals of the forms in whose place we propose another one."""
        older = [one.revision for one in before.proposed if not one.refused] if before is not None else []
        reason = f"instead of it: {revision.digest[:12]}"
        return [ContractRefusal(**_spoken(one), reason=reason) for one in older if one.digest != revision.digest]

    def say(self, revision: Revision, words: Iterable[ContractWord]) -> Administered:
        """Take our own words for facts, and tell them to all."""
        state, spoken = self.folder.notes.state, list(words)
        for word in spoken:
            facts, answer, _ = take_word(state.facts, word, self.member.domain)
            if isinstance(answer, Rejection):
                raise Misuse(answer.text, code=answer.code)
            state = msgspec.structs.replace(state, facts=facts)
        folder = replace(self.folder, notes=msgspec.structs.replace(self.folder.notes, state=state))
        self.folder = told(folder, self.member, [ToTell(word) for word in spoken])
        self.folder, report = exchange(self.folder, self.member)
        facts = self.folder.notes.state.facts
        agreement = contract_named(facts, _first(facts.revisions, revision))
        return Administered(agreement, revision, report)


class _current:
    """A folder, open for a command, after it has heard what others said."""

    def __init__(self, root: Path) -> None:
        self._opening = open_gateway(root)

    def __enter__(self) -> _Work:
        folder = self._opening.__enter__()
        try:
            folder, _ = exchange(folder, member_of(folder))
            return _Work(folder, member_of(folder))
        except BaseException as error:
            self._opening.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, *error: Any) -> None:
        self._opening.__exit__(*error)


def member_of(folder: GatewayFolder) -> Membership:
    """For which domain of which federation a folder stands, and what that publishes."""
    federation = load(folder.root)
    if folder.domain not in federation.domains:
        hint = f"add a file with `domain: {folder.domain}`"
        raise Misuse(
            f"there is no domain {folder.domain} in the folder",
            code="unknown-domain",
            place=Place(str(folder.root)),
            hint=hint,
        )
    identity = folder.identity
    return Membership(
        identity.federation, folder.settings.authority, folder.domain, published(federation, folder.domain)
    )


def _declared(file: Path) -> Declaration:
    document = read_document(file)
    if not isinstance(document.data, dict):
        raise document.fault("this file says nothing of a contract", (), code="bad-value")
    declared: Declaration = msgspec.json.decode(msgspec.json.encode(document.data))  # as it is in a message
    return declared


def _with_part(in_force: Declaration, part: Declaration, domain: str, file: Path) -> Declaration:
    """The contract with what a file says of a domain."""
    added = {role: part[role] for role in _ROLES if role in part}
    others = {name for said in added.values() if isinstance(said, dict) for name in said} - {domain}
    if not added or others or part.keys() - {*_ROLES, "contract"}:
        hint = f"`members:` or `observers:`, and below it `{domain}:` with its type and mapping"
        raise Misuse(f"this is not what {domain} adds", code="bad-value", place=Place(str(file)), hint=hint)
    return in_force | {role: {**in_force.get(role, {}), **said} for role, said in added.items()}


def _used(declaration: Declaration, domain: str) -> list[str]:
    """The types of a domain that a contract names."""
    given = [declaration.get(role, {}).get(domain, []) for role in _ROLES]
    parts = [part for one in given for part in (one if isinstance(one, list) else [one])]
    return sorted({str(part["type"]) for part in parts if isinstance(part, dict) and "type" in part})


def _first(revisions: dict[str, Revision], revision: Revision) -> str:
    while revision.before:
        revision = revisions[revision.before]
    return revision.digest


def _spoken(revision: Revision) -> dict[str, str]:
    return {"typename": typename_of(revision), "contract": revision.contract, "revision": revision.digest}
