"""How a contract comes to hold between domains whose administrators meet through signed messages only.

What is known of contracts is a set of facts: a form was proposed, somebody agreed to it, refused it, or left. Facts are
only ever added, each is the word of one domain, and a form is named by its digest. What holds is computed from the set,
so it does not depend on the order in which messages come, nor on how often; and who changes a form changes its name, to
which nobody has agreed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from comity.gateway.messages import Declaration

Digest = str


class Revision(Struct, frozen=True):
    """A form of a contract: what its file says, and the published types that it is about."""

    declaration: Declaration
    domains: dict[str, Declaration]
    """By party, its published types, as the file of its domain declares them."""
    before: Digest = ""
    """The form whose place it takes; empty: it begins a contract."""

    @property
    def digest(self) -> Digest:
        """Its name, which says all of it."""
        said = msgspec.json.encode(["comity revision 1", self], order="sorted")
        return blake2b(said, digest_size=32).hexdigest()

    @property
    def contract(self) -> str:
        """The name of the contract."""
        return str(self.declaration.get("contract", ""))

    @property
    def parties(self) -> frozenset[str]:
        """Who takes part, as a member or as an observer."""
        return frozenset(_part(self.declaration, "members")) | frozenset(_part(self.declaration, "observers"))

    @property
    def keepers(self) -> frozenset[str]:
        """Who decides about it: both founders, the authority, or, if it names neither, all parties."""
        founders = frozenset(map(str, self.declaration.get("founders") or ()))
        authority = self.declaration.get("authority")
        return founders or (frozenset({str(authority)}) if authority else self.parties)

    @property
    def concerned(self) -> frozenset[str]:
        """Everyone who is to know of it."""
        return self.parties | self.keepers

    def part_of(self, domain: str) -> tuple[Any, ...]:
        """What it says of a domain."""
        roles = (_part(self.declaration, role).get(domain) for role in ("members", "observers"))
        return (*roles, self.domains.get(domain))


class ContractFacts(Struct, frozen=True):
    """What is known. Each step gives a larger one."""

    revisions: dict[Digest, Revision] = {}
    consents: dict[Digest, frozenset[str]] = {}
    refusals: dict[Digest, dict[str, str]] = {}
    """Who refused, with the reason."""
    departures: dict[Digest, frozenset[str]] = {}
    """Who left while that form held."""

    def with_revision(self, revision: Revision, by: str) -> ContractFacts:
        """Somebody proposes a form, and agrees to it."""
        known = msgspec.structs.replace(self, revisions={**self.revisions, revision.digest: revision})
        return known.with_consent(revision.digest, by)

    def with_consent(self, digest: Digest, by: str) -> ContractFacts:
        """Somebody agrees to a form."""
        return msgspec.structs.replace(self, consents=_with(self.consents, digest, by))

    def with_refusal(self, digest: Digest, by: str, reason: str) -> ContractFacts:
        """Somebody refuses a form. Of two reasons the first by the alphabet stays, whichever came first."""
        known = self.refusals.get(digest, {})
        told = {**known, by: min(reason, known.get(by, reason))}
        return msgspec.structs.replace(self, refusals={**self.refusals, digest: told})

    def with_departure(self, digest: Digest, by: str) -> ContractFacts:
        """Somebody leaves the contract of which that form holds."""
        return msgspec.structs.replace(self, departures=_with(self.departures, digest, by))

    def __len__(self) -> int:
        """How many forms they tell of."""
        return len(self.revisions.keys() | self.consents.keys() | self.refusals.keys() | self.departures.keys())


class ContractState(StrEnum):
    """Where a contract stands."""

    PROPOSED = "proposed"
    REFUSED = "refused"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    """It held, and too few are left."""


@dataclass(frozen=True, slots=True)
class ProposedForm:
    """A form that does not hold yet."""

    revision: Revision
    awaits: frozenset[str]
    """Those whose consent is missing."""
    refused: Mapping[str, str]
    """Of those who must agree: who refused, and why. Then it will never hold."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A contract, from its first form on."""

    first: Digest
    name: str
    state: ContractState
    current: Revision | None
    """The form that holds, or held before too few were left."""
    left: frozenset[str]
    """Parties of that form that have left."""
    proposed: tuple[ProposedForm, ...]

    @property
    def parties(self) -> frozenset[str]:
        """Who takes part now."""
        return self.current.parties - self.left if self.current is not None else frozenset()

    def in_force(self) -> Declaration | None:
        """The contract's file as it holds now, without those who left."""
        if self.current is None or self.state is not ContractState.ACTIVE:
            return None
        return without_parties(self.current.declaration, self.left)


def agreements(facts: ContractFacts) -> tuple[Agreement, ...]:
    """All contracts that are known of, by name."""
    firsts = [digest for digest, one in facts.revisions.items() if not one.before]
    found = [_agreement(facts, digest) for digest in firsts]
    return tuple(sorted(found, key=lambda one: (one.name, one.first)))


def who_must_agree(revision: Revision, before: Revision | None, left: frozenset[str]) -> frozenset[str]:
    """Who decides about the form that holds, who decides about the new one, and whoever it says something else of."""
    changed = {one for one in revision.parties if _is_changed(one, revision, before, left)}
    held = before.keepers - left or before.parties - left if before is not None else frozenset()
    gone = left - revision.parties
    return held | (revision.keepers - gone) | changed


def without_parties(declaration: Declaration, left: frozenset[str]) -> Declaration:
    """A contract's file without some parties. A contract one of whose founders left goes on without founders."""
    found = dict(declaration)
    for role in ("members", "observers"):
        if role in found:
            found[role] = {name: part for name, part in _part(declaration, role).items() if name not in left}
    if left & set(map(str, declaration.get("founders") or ())):
        del found["founders"]
    return found


def _agreement(facts: ContractFacts, first: Digest) -> Agreement:
    current: Revision | None = None
    left: frozenset[str] = frozenset()
    candidates = [first]
    while agreed := sorted(one for one in candidates if _is_agreed(facts, one, current, left)):
        # Those who decide agree to one successor. Should they agree to two, all take the same one.
        digest = agreed[0]
        current = facts.revisions[digest]
        left = (left - facts.consents[digest]) & current.parties
        left |= facts.departures.get(digest, frozenset()) & current.parties
        candidates = [one for one, each in facts.revisions.items() if each.before == digest]
    proposed = tuple(_proposed(facts, one, current, left) for one in sorted(candidates))
    name = (current or facts.revisions[first]).contract
    return Agreement(first, name, _state(current, left, proposed), current, left, proposed)


def _state(current: Revision | None, left: frozenset[str], proposed: tuple[ProposedForm, ...]) -> ContractState:
    if current is None:
        is_refused = all(one.refused for one in proposed)
        return ContractState.REFUSED if is_refused else ContractState.PROPOSED
    is_alone = not current.declaration.get("authority") and len(current.parties - left) < 2
    return ContractState.SUSPENDED if is_alone else ContractState.ACTIVE


def _proposed(facts: ContractFacts, digest: Digest, current: Revision | None, left: frozenset[str]) -> ProposedForm:
    revision = facts.revisions[digest]
    must = who_must_agree(revision, current, left)
    refused = {who: why for who, why in facts.refusals.get(digest, {}).items() if who in must}
    return ProposedForm(revision, must - facts.consents.get(digest, frozenset()), refused)


def _is_agreed(facts: ContractFacts, digest: Digest, current: Revision | None, left: frozenset[str]) -> bool:
    found = _proposed(facts, digest, current, left)
    return not found.awaits and not found.refused


def _is_changed(domain: str, revision: Revision, before: Revision | None, left: frozenset[str]) -> bool:
    return before is None or domain in left or before.part_of(domain) != revision.part_of(domain)


def _part(declaration: Declaration, role: str) -> dict[str, Any]:
    found = declaration.get(role)
    return found if isinstance(found, dict) else {}


def _with(known: dict[Digest, frozenset[str]], digest: Digest, domain: str) -> dict[Digest, frozenset[str]]:
    return {**known, digest: known.get(digest, frozenset()) | {domain}}


def revisions_of(facts: ContractFacts, agreement: Agreement) -> Iterator[Digest]:
    """All forms of a contract, those that never held, too."""
    waiting = [agreement.first]
    while waiting:
        digest = waiting.pop()
        yield digest
        waiting += [one for one, each in facts.revisions.items() if each.before == digest]
