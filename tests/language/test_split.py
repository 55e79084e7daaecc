"""Splitting: nothing is lost, nothing foreign is asked, and what is asked is as much as can be."""

from __future__ import annotations

from hypothesis import event as noted
from hypothesis import given
from hypothesis import strategies as st

from comity.event.event import Event
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.tree import TRUE, Expression
from comity.language import EVERYTHING, NOTHING, LanguageCapability, MissingPolicy, split
from comity.language.languages import LANGUAGES
from comity.language.parquet import PARQUET
from comity.testing.expressions import SAMPLE, events, filters, open_events, open_filters
from comity.testing.filters import BASE, typed_filters, typed_scope
from tests.language.languages import capabilities, check, passes

CAPABILITIES = capabilities() | st.sampled_from([one.capability for one in LANGUAGES.values()])
SMALL_FILTERS = typed_filters(1).map(lambda texts: bind_text(texts[0], typed_scope()))


def assert_split(tree: Expression, capability: LanguageCapability, some: list[Event], type: object) -> None:
    found = split(tree, capability, type=type)  # type: ignore[arg-type]
    check(found.native, capability, type)  # type: ignore[arg-type]
    noted(f"native is {'true' if found.native == TRUE else 'all' if found.is_exact else 'a part'}")
    for one in some:
        wanted, sent = holds(tree, one), holds(found.native, one)
        assert sent or not wanted, f"lost by {render(found.native)}"
        assert (sent and holds(found.residual, one)) == wanted, f"{render(found.native)} / {render(found.residual)}"
        assert passes(found.native, one, capability.missing) == sent, f"{render(found.native)} differs in its language"
    assert found.is_exact or found.reasons


@given(filters(), CAPABILITIES, st.lists(events(), min_size=1, max_size=4))
def test_split_of_a_typed_filter(tree: Expression, capability: LanguageCapability, some: list[Event]) -> None:
    assert_split(tree, capability, some, SAMPLE)


@given(SMALL_FILTERS, CAPABILITIES, st.lists(events(BASE), min_size=1, max_size=6))
def test_split_of_a_typed_filter_on_few_attributes(
    tree: Expression, can: LanguageCapability, some: list[Event]
) -> None:
    assert_split(tree, can, some, BASE)


@given(open_filters(), CAPABILITIES, st.lists(open_events(), min_size=1, max_size=4))
def test_split_of_an_open_filter(tree: Expression, capability: LanguageCapability, some: list[Event]) -> None:
    assert_split(tree, capability, some, None)


@given(filters() | open_filters())
def test_split_by_everything_leaves_nothing(tree: Expression) -> None:
    found = split(tree, EVERYTHING)
    assert (found.native, found.residual, found.reasons) == (tree, TRUE, ())


@given(filters() | open_filters())
def test_split_by_nothing_asks_for_everything(tree: Expression) -> None:
    found = split(tree, NOTHING)
    assert (found.native, found.residual) == (TRUE, tree)
    assert [one.code for one in found.reasons] == ["source-has-no-filter"]


@given(filters(), st.lists(events(), min_size=1, max_size=4))
def test_parquet_passes_the_same_events_in_the_logic_of_sql(tree: Expression, some: list[Event]) -> None:
    found = split(tree, PARQUET.capability, type=SAMPLE)
    for one in some:
        assert passes(found.native, one, MissingPolicy.UNKNOWN) == holds(found.native, one)
