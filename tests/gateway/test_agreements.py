"""Contracts hold when those agreed who must, to exactly the same form, in whatever order their messages come."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.gateway.agreements import ContractFacts, ContractState, Revision, agreements
from comity.gateway.contract_steps import changes, contract_named, proposal_of, take_word
from comity.gateway.messages import (
    Acceptance,
    ContractConsent,
    ContractDeparture,
    ContractProposal,
    ContractRefusal,
    Rejection,
)
from comity.limits import limited
from tests.gateway.contracts import domain, revision
from tests.gateway.reference import Fact, chains

FOUNDED = revision(("a", "b"), founders=("a", "b"))


def _word(
    fact: Fact, forms: dict[str, Revision]
) -> ContractProposal | ContractConsent | ContractRefusal | ContractDeparture:
    if fact.what == "propose":
        return proposal_of(forms[fact.digest])
    made = {"agree": ContractConsent, "refuse": ContractRefusal, "leave": ContractDeparture}[fact.what]
    return made(typename="enter.EnterEvent", contract="enter", revision=fact.digest)


def _after(*facts: tuple[str, Revision, str]) -> ContractFacts:
    forms = {one.digest: one for _, one, _ in facts}
    known = ContractFacts()
    for what, form, by in facts:
        known, answer, _ = take_word(known, _word(Fact(what, form.digest, by), forms), by)
        assert isinstance(answer, Acceptance), answer
    return known


def _state(known: ContractFacts) -> ContractState:
    (found,) = agreements(known)
    return found.state


def test_a_contract_of_two_holds_when_both_agree() -> None:
    known = _after(("propose", FOUNDED, "a"))
    (found,) = agreements(known)
    assert found.state is ContractState.PROPOSED
    assert found.proposed[0].awaits == {"b"}
    assert _state(_after(("propose", FOUNDED, "a"), ("agree", FOUNDED, "b"))) is ContractState.ACTIVE


def test_a_contract_that_one_refuses_never_holds() -> None:
    known = _after(("propose", FOUNDED, "a"), ("refuse", FOUNDED, "b"), ("agree", FOUNDED, "b"))
    assert _state(known) is ContractState.REFUSED


def test_a_refusal_of_somebody_who_has_no_say_is_none() -> None:
    known = _after(("propose", FOUNDED, "a"), ("refuse", FOUNDED, "z"), ("agree", FOUNDED, "b"))
    assert _state(known) is ContractState.ACTIVE


def test_a_form_that_was_changed_after_consent_is_refused() -> None:
    changed = revision(("a", "b"), founders=("a", "b"), room="'nowhere'")
    sent = msgspec.structs.replace(proposal_of(changed), revision=FOUNDED.digest)
    known, answer, changed_contracts = take_word(_after(("agree", FOUNDED, "b")), sent, "a")
    assert isinstance(answer, Rejection)
    assert answer.code == "changed-contract"
    assert not changed_contracts
    assert not known.revisions
    assert _state(_after(("agree", FOUNDED, "b"), ("propose", changed, "a"))) is ContractState.PROPOSED


def test_a_global_contract_is_the_authoritys_but_nobody_is_a_member_unasked() -> None:
    opened = revision((), authority="city")
    assert _state(_after(("propose", opened, "city"))) is ContractState.ACTIVE
    joined = revision(("a",), authority="city", before=opened.digest)
    known = _after(("propose", opened, "city"), ("propose", joined, "city"))
    assert agreements(known)[0].proposed[0].awaits == {"a"}
    known = _after(("propose", opened, "city"), ("propose", joined, "a"))
    assert agreements(known)[0].proposed[0].awaits == {"city"}


def test_whoever_joins_needs_the_founders_and_other_members_are_not_asked() -> None:
    with_c = revision(("a", "b", "c"), founders=("a", "b"), before=FOUNDED.digest)
    with_d = revision(("a", "b", "c", "d"), founders=("a", "b"), before=with_c.digest)
    facts = [("propose", FOUNDED, "a"), ("agree", FOUNDED, "b"), ("propose", with_c, "c"), ("agree", with_c, "a")]
    assert agreements(_after(*facts))[0].parties == {"a", "b"}
    facts += [("agree", with_c, "b"), ("propose", with_d, "d"), ("agree", with_d, "a"), ("agree", with_d, "b")]
    assert agreements(_after(*facts))[0].parties == {"a", "b", "c", "d"}


def test_founders_cannot_change_what_another_member_says() -> None:
    with_c = revision(("a", "b", "c"), founders=("a", "b"), before=FOUNDED.digest)
    other = revision(("a", "b", "c"), founders=("a", "b"), before=with_c.digest, room="'attic'")
    known = _after(
        ("propose", FOUNDED, "a"),
        ("agree", FOUNDED, "b"),
        ("propose", with_c, "c"),
        ("agree", with_c, "a"),
        ("agree", with_c, "b"),
        ("propose", other, "a"),
        ("agree", other, "b"),
    )
    assert agreements(known)[0].proposed[0].awaits == {"c"}


def test_outsiders_cannot_take_a_contract_over() -> None:
    theirs = revision(("y", "z"), founders=("y", "z"), before=FOUNDED.digest)
    known = _after(("propose", FOUNDED, "a"), ("agree", FOUNDED, "b"), ("propose", theirs, "y"), ("agree", theirs, "z"))
    (found,) = agreements(known)
    assert found.current == FOUNDED
    assert found.proposed[0].awaits == {"a", "b"}


def test_a_contract_of_two_is_suspended_when_one_leaves_and_goes_on_when_it_comes_back() -> None:
    facts = [("propose", FOUNDED, "a"), ("agree", FOUNDED, "b"), ("leave", FOUNDED, "b")]
    (found,) = agreements(_after(*facts))
    assert found.state is ContractState.SUSPENDED
    assert found.in_force() is None
    again = revision(("a", "b"), founders=("a", "b"), before=FOUNDED.digest, version=2)
    (found,) = agreements(_after(*facts, ("propose", again, "a")))
    assert found.proposed[0].awaits == {"b"}
    (found,) = agreements(_after(*facts, ("propose", again, "a"), ("agree", again, "b")))
    assert found.state is ContractState.ACTIVE


def test_a_contract_that_others_joined_goes_on_without_a_founder() -> None:
    with_c = revision(("a", "b"), founders=("a", "b"), observers=("c",), before=FOUNDED.digest)
    facts = [("propose", FOUNDED, "a"), ("agree", FOUNDED, "b"), ("propose", with_c, "c")]
    facts += [("agree", with_c, "a"), ("agree", with_c, "b"), ("leave", with_c, "a")]
    (found,) = agreements(_after(*facts))
    in_force = found.in_force()
    assert in_force is not None
    assert sorted(in_force["members"]) == ["b"]
    assert "founders" not in in_force
    assert found.parties == {"b", "c"}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"functions": {"f": {"file": "f.py"}}}, "contract-of-files"),
        ({"tables": {"rooms": {"file": "rooms.csv"}}}, "contract-of-files"),
        ({"members": {"a": {"type": "Enter", "xslt": "a.xsl"}}}, "contract-of-files"),
        ({"founders": "ab"}, "bad-value"),
        ({"members": ["a"]}, "bad-value"),
        ({"more": 1}, "unknown-key"),
    ],
)
def test_what_is_no_contract_by_itself_is_rejected(changed: dict[str, object], code: str) -> None:
    form = Revision({**revision(("a",)).declaration, **changed}, {"a": domain("a")})
    _, answer, _ = take_word(ContractFacts(), proposal_of(form), "a")
    assert isinstance(answer, Rejection)
    assert answer.code in (code, "faults")


def test_a_proposal_tells_of_the_types_of_its_parties_and_of_nothing_else() -> None:
    for domains in (
        {},
        {"a": domain("b")},
        {"a": {**domain("a"), "sources": {}}},
        {"a": domain("a"), "b": domain("b")},
    ):
        _, answer, _ = take_word(ContractFacts(), proposal_of(Revision(revision(("a",)).declaration, domains)), "a")
        assert isinstance(answer, Rejection)
        assert answer.code == "bad-message"


def test_facts_are_bounded() -> None:
    with limited(max_contract_revisions=1):
        known = _after(("propose", FOUNDED, "a"))
        same, answer, _ = take_word(known, proposal_of(revision(("a", "c"), founders=("a", "c"))), "a")
    assert isinstance(answer, Rejection)
    assert answer.code == "too-many-revisions"
    assert same == known


def test_a_contract_is_found_by_its_name_or_by_its_digest() -> None:
    other = revision(("a", "c"), founders=("a", "c"))
    both = _after(("propose", FOUNDED, "a"), ("propose", other, "a"))
    with pytest.raises(Misuse, match="several contracts"):
        contract_named(both, "enter")
    assert contract_named(both, other.digest[:12]).first == other.digest
    with pytest.raises(Misuse, match="no contract exit"):
        contract_named(both, "exit")
    agreed = _after(("propose", FOUNDED, "a"), ("propose", other, "a"), ("agree", FOUNDED, "b"))
    assert contract_named(agreed, "enter").first == FOUNDED.digest


# Any messages in any order


@st.composite
def _histories(draw: st.DrawFn) -> list[Fact]:
    """Forms that follow each other, and what domains say of them, sensible or not."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    names = ["a", "b", "c", "d"]
    forms: list[Revision] = []
    for number in range(draw(st.integers(1, 5))):
        members = chance.sample(names, chance.randint(1, 4))
        founders = tuple(chance.sample(names, 2)) if chance.random() < 0.6 else ()
        authority = chance.choice([*names, ""]) if not founders else ""
        before = chance.choice([one.digest for one in forms]) if forms and chance.random() < 0.8 else ""
        rooms = chance.choice(["room", "'attic'"])
        watching = chance.sample(names, chance.randint(0, 1))
        forms.append(
            revision(
                members,
                founders=founders,
                authority=authority,
                observers=watching,
                room=rooms,
                before=before,
                version=number + 1,
            )
        )
    facts = [Fact("propose", one.digest, chance.choice(names), one) for one in forms]
    for one in forms:
        facts += [Fact("agree", one.digest, name) for name in names if chance.random() < 0.85]
        facts += [Fact("refuse", one.digest, name) for name in names if chance.random() < 0.05]
        facts += [Fact("leave", one.digest, name) for name in names if chance.random() < 0.15]
    return facts


@settings(max_examples=60, deadline=None)
@given(_histories(), st.integers(0, 2**32))
def test_any_order_with_any_repeats_gives_what_the_reference_gives(facts: list[Fact], seed: int) -> None:
    forms = {fact.digest: fact.revision for fact in facts if fact.revision is not None}
    wanted = {first: held[-1] if held else None for first, held in chains(facts).items()}
    ends = []
    for order in range(3):
        chance = random.Random(seed + order)
        told = facts + [fact for fact in facts if chance.random() < 0.3]
        chance.shuffle(told)
        known = ContractFacts()
        for at, fact in enumerate(told):
            if chance.random() < 0.1:  # a restart
                known = msgspec.json.decode(msgspec.json.encode(known), type=ContractFacts)
            before = known
            known, answer, changed = take_word(known, _word(fact, forms), fact.by)
            assert isinstance(answer, Acceptance)
            is_repeat = fact in told[:at]
            assert not is_repeat or (known == before and not changed)
        found = {one.first: (one.current.digest, one.left) if one.current else None for one in agreements(known)}
        assert found == wanted
        ends.append(known)
    assert ends[0] == ends[1] == ends[2]
    assert not changes(ends[0], ends[1])
