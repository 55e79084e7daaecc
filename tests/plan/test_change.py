"""Plans that change: compiled only where something changed, and found again from differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.federation import Federation, Subscription, load
from comity.plan import Plan, compile_plan
from comity.plan.change import apply, difference
from comity.plan.compile import PlanCompiler
from comity.testing.federations import federation_texts, load_texts

EXAMPLES = Path(__file__).parents[2] / "examples"
HOUSES = EXAMPLES / "two_houses"


def changed(federation: Federation, chance: Random) -> Federation:
    """The federation with some profiles gone, moved, or asking for something else, or with a contract gone."""
    profiles = list(federation.profiles.items())
    chance.shuffle(profiles)
    kept = dict(profiles[chance.randrange(len(profiles) + 1) :] if profiles else [])
    for name, one in list(kept.items()):
        match chance.randrange(4):
            case 0:
                kept[name] = replace(one, priority=one.priority + 1)
            case 1:
                kept[name] = replace(one, tree=chance.choice(profiles)[1].tree if _alike(profiles) else one.tree)
            case 2:
                kept[name] = replace(one, own=not one.own)
    contracts = dict(federation.contracts)
    if contracts and chance.random() < 0.3:
        name = chance.choice(list(contracts))
        members = dict(contracts[name].members)
        members.pop(chance.choice([*members, ""]), None)
        contracts[name] = replace(contracts[name], members=members)
    return replace(federation, profiles=kept, contracts=contracts)


def _alike(profiles: list[tuple[str, Subscription]]) -> bool:
    return len({one.type.key for _, one in profiles}) == 1


def sequence(chance: Random) -> Iterator[Federation]:
    """A federation as it changes, sometimes back to what it was."""
    first = load_texts(federation_texts(chance))
    yield first
    for _ in range(4):
        yield changed(first, chance) if chance.random() < 0.8 else first


@settings(deadline=None)
@given(chance=st.randoms(use_true_random=False))
def test_compiling_what_changed_gives_the_same_as_compiling_all(chance: Random) -> None:
    compiler = PlanCompiler()
    before: Plan | None = None
    for federation in sequence(chance):
        after = compiler.compile(federation)
        whole = compile_plan(federation)
        assert after == whole
        assert after.key == whole.key
        if before is not None:
            assert apply(before, difference(before, whole)) == after
            assert apply(after, difference(whole, before)) == before
        before = after


def many(count: int) -> Federation:
    """The example with many profiles."""
    houses = load(HOUSES)
    profile = next(iter(houses.profiles.values()))
    return replace(houses, profiles={f"p{number}": replace(profile, name=f"p{number}") for number in range(count)})


def test_only_profiles_that_changed_are_compiled_again() -> None:
    compiler, federation = PlanCompiler(), many(200)
    compiler.compile(federation)
    assert compiler.compiled == 200
    profiles = {**federation.profiles}
    profiles["p7"] = replace(profiles["p7"], priority=3)
    profiles["new"] = replace(profiles["p7"], name="new")
    del profiles["p9"]
    plan = compiler.compile(replace(federation, profiles=profiles))
    assert compiler.compiled == 202
    assert plan == compile_plan(replace(federation, profiles=profiles))


def test_files_that_are_read_again_are_not_compiled_again() -> None:
    compiler = PlanCompiler()
    first = compiler.compile(load(HOUSES))
    count = compiler.compiled
    second = compiler.compile(load(HOUSES))
    assert (compiler.compiled, second) == (count, first)
    old, new = ([one for route in plan.routes for one in route.deliveries] for plan in (first, second))
    assert all(one is other for one, other in zip(old, new, strict=True))


def test_a_contract_that_changes_costs_the_profiles_behind_it() -> None:
    compiler, city = PlanCompiler(), load(EXAMPLES / "active_city")
    compiler.compile(city)
    count = compiler.compiled
    name = "south_street.enter"
    without = replace(city, contracts={**city.contracts, name: replace(city.contracts[name], members={})})
    assert compiler.compile(without) == compile_plan(without)
    assert 0 < compiler.compiled - count < count


def test_a_difference_holds_what_changed_and_nothing_else() -> None:
    federation = many(50)
    profiles = {**federation.profiles, "p7": replace(federation.profiles["p7"], priority=3)}
    before, after = compile_plan(federation), compile_plan(replace(federation, profiles=profiles))
    change = difference(before, after)
    assert (change.added, bool(change.routes), bool(change.types)) == (frozenset({"p7"}), False, False)
    assert {len(edits.added) for _, edits in change.deliveries} == {1}
    assert not difference(before, before).deliveries


def test_a_profile_that_moves_is_all_that_moves() -> None:
    federation = many(50)
    (name, last), *_ = reversed(federation.profiles.items())
    moved = {name: last, **{key: one for key, one in federation.profiles.items() if key != name}}
    before, after = compile_plan(federation), compile_plan(replace(federation, profiles=moved))
    change = difference(before, after)
    assert change.added == {name}
    assert apply(before, change) == after


def test_a_change_of_another_plan_is_refused() -> None:
    before, after = compile_plan(many(3)), compile_plan(many(1))
    with pytest.raises(Misuse) as caught:
        apply(after, difference(before, after))
    assert caught.value.code == "change-of-another-plan"
