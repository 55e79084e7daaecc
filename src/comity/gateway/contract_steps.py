"""What a gateway does with messages about contracts: they become facts, and facts become what holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from comity.errors import ComityError, Misuse
from comity.gateway.agreements import Agreement, ContractFacts, ContractState, Revision, agreements
from comity.gateway.declared import check_revision
from comity.gateway.messages import (
    Acceptance,
    ContractConsent,
    ContractDeparture,
    ContractProposal,
    ContractRefusal,
    MessageKind,
    Rejection,
)
from comity.limits import limits

ContractWord = ContractProposal | ContractConsent | ContractRefusal | ContractDeparture
"""What domains say to each other about a contract; each of these is a fact, whoever passes it on."""
OF_CONTRACTS = (ContractProposal, ContractConsent, ContractRefusal, ContractDeparture)


@dataclass(frozen=True, slots=True)
class ContractChange:
    """What a step changed of a contract, as it was and as it is."""

    before: Agreement | None
    after: Agreement


def take_word(
    facts: ContractFacts, word: ContractWord, by: str
) -> tuple[ContractFacts, Acceptance | Rejection, tuple[ContractChange, ...]]:
    """The facts with what a domain says, the answer to it, and which contracts changed by it."""
    try:
        known = _known(facts, word, by)
    except ComityError as error:
        place = str(error.place) if error.place is not None else ""
        text = error.message[:1_000]
        return facts, Rejection(of=MessageKind.CONTRACT, code=error.code, text=text, place=place), ()
    return known, Acceptance(of=MessageKind.CONTRACT, effect=word.revision), changes(facts, known)


def changes(before: ContractFacts, after: ContractFacts) -> tuple[ContractChange, ...]:
    """The contracts of which something else holds or is proposed."""
    known = {one.first: one for one in agreements(before)}
    now = agreements(after)
    return tuple(ContractChange(known.get(one.first), one) for one in now if known.get(one.first) != one)


def _known(facts: ContractFacts, word: ContractWord, by: str) -> ContractFacts:
    found = _with_word(facts, word, by)
    if len(found) > limits().max_contract_revisions:
        reason = f"more than {limits().max_contract_revisions:,} forms of contracts"
        raise Misuse(reason, code="too-many-revisions", hint="set COMITY_MAX_CONTRACT_REVISIONS")
    return found


def _with_word(facts: ContractFacts, word: ContractWord, by: str) -> ContractFacts:
    match word:
        case ContractProposal():
            return facts.with_revision(proposed_revision(word), by)
        case ContractConsent():
            return facts.with_consent(word.revision, by)
        case ContractRefusal():
            return facts.with_refusal(word.revision, by, word.reason[:1_000])
        case ContractDeparture():
            return facts.with_departure(word.revision, by)
    assert_never(word)


def proposed_revision(word: ContractProposal) -> Revision:
    """The form that is proposed; raises `Misuse` if it is none, or not the one that the proposal names."""
    revision = Revision(word.declaration, word.domains, word.before)
    if revision.digest != word.revision:
        hint = "whoever sent it must say the digest of what it sent"
        raise Misuse("a contract is proposed under the digest of another form", code="changed-contract", hint=hint)
    check_revision(revision)
    return revision


def proposal_of(revision: Revision) -> ContractProposal:
    """The message that proposes a form."""
    return ContractProposal(
        typename=typename_of(revision),
        contract=revision.contract,
        revision=revision.digest,
        declaration=revision.declaration,
        domains=revision.domains,
        before=revision.before,
    )


def typename_of(revision: Revision) -> str:
    """The name of the contract's type."""
    types = revision.declaration.get("types")
    name = next(iter(types), "") if isinstance(types, dict) else ""
    return f"{revision.contract}.{name}"


def contract_named(facts: ContractFacts, name: str) -> Agreement:
    """The contract of a name: the one that holds, else the one that is proposed. Raises `Misuse` if there is none."""
    named = [one for one in agreements(facts) if one.name == name]
    for state in (ContractState.ACTIVE, ContractState.SUSPENDED, ContractState.PROPOSED, ContractState.REFUSED):
        found = [one for one in named if one.state is state]
        if len(found) > 1 and state is not ContractState.REFUSED:
            firsts = ", ".join(one.first[:12] for one in found)
            hint = f"name it by the beginning of its digest: {firsts}"
            raise Misuse(f"there are several contracts {name}", code="ambiguous-contract", hint=hint)
        if found:
            return found[-1]
    by_digest = [one for one in agreements(facts) if one.first.startswith(name)]
    if len(by_digest) == 1 and len(name) >= 8:
        return by_digest[0]
    known = ", ".join(sorted({one.name for one in agreements(facts)}))
    hint = f"known: {known}" if known else "nobody has proposed any yet"
    raise Misuse(f"there is no contract {name}", code="unknown-contract", hint=hint)
