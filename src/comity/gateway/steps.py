"""A gateway as one step: what it knows and a message give what it knows then, and what is to be done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import msgspec
from msgspec import Struct

from comity.errors import ComityError, Misuse
from comity.gateway.agreements import ContractFacts
from comity.gateway.contract_steps import (
    OF_CONTRACTS,
    ContractChange,
    ContractWord,
    proposal_of,
    take_word,
    typename_of,
)
from comity.gateway.declared import check_domain
from comity.gateway.keys import check_signature
from comity.gateway.messages import (
    Acceptance,
    Body,
    ContractConsent,
    ContractDeparture,
    ContractRefusal,
    Declaration,
    DiscoveryAnswer,
    DiscoveryQuestion,
    GatewayMessage,
    Rejection,
)
from comity.gateway.messages.xml_table import PLACES
from comity.gateway.remembered import TakenMessages


class KnownDomain(Struct, frozen=True):
    """What a domain publishes, as it said itself."""

    declaration: Declaration
    said: datetime


class GatewayState(Struct, frozen=True):
    """What a gateway knows. It is plain data: written as JSON and read again it is the same."""

    facts: ContractFacts = ContractFacts()
    taken: TakenMessages = TakenMessages()
    domains: dict[str, KnownDomain] = {}
    """The other domains of the federation, by name."""


@dataclass(frozen=True, slots=True)
class Membership:
    """In which federation a gateway stands for which domain."""

    federation: str
    authority: str
    """The public key of the authority."""
    domain: str
    published: Declaration
    """What the domain publishes."""


@dataclass(frozen=True, slots=True)
class ToTell:
    """Something to be said to another domain, or to all of them."""

    body: Body
    to: str = ""
    """A domain; empty: all."""
    reply_to: str = ""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What came of a message."""

    state: GatewayState
    tell: tuple[ToTell, ...] = ()
    changes: tuple[ContractChange, ...] = ()
    domain: str = ""
    """Of which domain something new is known."""
    refused: Misuse | None = None
    """Why the message was not taken; it has no effect then."""
    rejection: Rejection | None = None
    """What another gateway rejected of what we said."""


@dataclass(frozen=True, slots=True)
class _Step:
    state: GatewayState
    message: GatewayMessage
    by: str
    member: Membership
    is_repeat: bool


def take_message(state: GatewayState, message: GatewayMessage, member: Membership, now: datetime) -> StepOutcome:
    """The step for a message of another gateway. One that came before is answered again, and changes nothing."""
    try:
        by = check_signature(message, member.authority, member.federation, now).domain
        if by == member.domain:  # what we said ourselves comes back
            return StepOutcome(state)
        is_repeat = state.taken.knows(by, message.id)
        if not is_repeat and message.expires is not None:
            taken = state.taken.with_message(by, message.id, message.expires, now)
            state = msgspec.structs.replace(state, taken=taken)
    except ComityError as error:
        refused = error if isinstance(error, Misuse) else Misuse(error.message, code=error.code)
        return StepOutcome(state, refused=refused)
    return _taken(_Step(state, message, by, member, is_repeat))


def _taken(step: _Step) -> StepOutcome:
    content = step.message.content
    if isinstance(content, OF_CONTRACTS):
        return _take_word(step, content)
    if isinstance(content, DiscoveryQuestion):
        return StepOutcome(step.state, () if step.is_repeat else tuple(_answers(step)))
    if isinstance(content, DiscoveryAnswer):
        return _take_answer(step, content)
    if isinstance(content, Rejection):
        return StepOutcome(step.state, rejection=content)
    kind = PLACES[type(content)].kind
    if isinstance(content, Acceptance) or kind is None:
        return StepOutcome(step.state)
    text = f"this gateway takes no part in {kind.value}"
    return StepOutcome(step.state, (_reply(step, Rejection(of=kind, code="unserved-message", text=text)),))


def _take_word(step: _Step, word: ContractWord) -> StepOutcome:
    facts, answer, changes = take_word(step.state.facts, word, step.by)
    state = msgspec.structs.replace(step.state, facts=facts)
    return StepOutcome(state, (_reply(step, answer),), changes)


def _take_answer(step: _Step, answer: DiscoveryAnswer) -> StepOutcome:
    """What a domain publishes, in its own words only, and never an older word after a newer one."""
    said, known = step.message.sent, step.state.domains.get(step.by)
    if said is None or (known is not None and known.said >= said):
        return StepOutcome(step.state)
    try:
        declaration = next(iter(answer.types), {})
        check_domain(step.by, declaration)
    except ComityError as error:
        refused = Misuse(f"what {step.by} publishes cannot be read: {error.message}", code=error.code)
        return StepOutcome(step.state, refused=refused)
    domains = {**step.state.domains, step.by: KnownDomain(declaration, said)}
    is_new = known is None or known.declaration != declaration
    state = msgspec.structs.replace(step.state, domains=domains)
    return StepOutcome(state, domain=step.by if is_new else "")


def _answers(step: _Step) -> Iterator[ToTell]:
    """What we publish, and all that we ever said of contracts: whoever asks may be new."""
    yield _reply(step, introduction(step.member))
    for word in own_words(step.state.facts, step.member.domain):
        yield ToTell(word, step.by)


def introduction(member: Membership) -> DiscoveryAnswer:
    """What a gateway says of its own domain."""
    return DiscoveryAnswer(types=(member.published,))


def own_words(facts: ContractFacts, domain: str) -> Iterator[ContractWord]:
    """All that a domain said of contracts, to say it again. Who agreed to a form may as well propose it."""
    for digest, revision in facts.revisions.items():
        spoken = {"typename": typename_of(revision), "contract": revision.contract, "revision": digest}
        if domain in facts.consents.get(digest, ()):
            yield proposal_of(revision)
        if domain in facts.refusals.get(digest, {}):
            yield ContractRefusal(**spoken, reason=facts.refusals[digest][domain])
        if domain in facts.departures.get(digest, ()):
            yield ContractDeparture(**spoken)
    for digest in facts.consents.keys() - facts.revisions.keys():
        if domain in facts.consents[digest]:
            yield ContractConsent(typename="", contract="", revision=digest)


def _reply(step: _Step, body: Body) -> ToTell:
    return ToTell(body, step.by, step.message.id)
