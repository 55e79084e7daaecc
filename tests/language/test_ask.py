"""What a source is asked for on behalf of several profiles."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from comity.event.event import Event
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.tree import FALSE, TRUE, Expression
from comity.language import Language, LanguageCapability
from comity.language.ask import JointAsk, Want, asked_of_source
from comity.language.language import NONE
from comity.language.parquet import PARQUET
from comity.testing.expressions import SAMPLE, events, filters
from comity.testing.filters import BASE, typed_filters, typed_scope
from tests.language.languages import capabilities, check


def ask(*texts: str, language: Language = PARQUET) -> JointAsk:
    wants = [Want(f"p{number}", bind_text(text, typed_scope())) for number, text in enumerate(texts)]
    return asked_of_source(wants, language, type=BASE)


def test_asked_of_source_joins_what_profiles_want() -> None:
    assert ask("x = 1", "x = 3", "s = 'a'").text == "x IN (1, 3) OR s = 'a'"


def test_asked_of_source_merges_ranges_and_leaves_out_what_others_cover() -> None:
    assert ask("x > 5", "x > 3 and s = 'a'", "x > 4 and s = 'a'").text == "x > 5 OR (x > 3 AND s = 'a')"
    assert ask("x > 5", "x > 3").text == "x > 3"


def test_asked_of_source_leaves_to_each_profile_what_was_asked_for_others() -> None:
    found = ask("x > 5", "x > 3 and s contains 'a'")
    assert [render(part.residual) for part in found.parts] == ["x > 5", "s contains 'a'"]


def test_asked_of_source_for_one_profile_leaves_the_residual_only() -> None:
    (part,) = ask("x > 5 and s contains 'a'").parts
    assert render(part.residual) == "s contains 'a'"


def test_asked_of_source_names_the_profile_that_needs_everything() -> None:
    found = ask("x > 5", "s contains 'a'")
    assert found.asks_for_everything
    assert [str(one) for one in found.reasons] == ["p1 [profile-without-bound]"]


def test_asked_of_source_without_profiles_asks_for_nothing() -> None:
    assert asked_of_source([], PARQUET).text == "nothing"
    assert ask("false").asks_for_nothing


def test_asked_of_source_without_a_language_asks_for_everything() -> None:
    found = ask("x > 5", language=NONE)
    assert (found.text, [str(one) for one in found.reasons]) == ("everything", ["[source-has-no-filter]"])


def test_asked_of_source_draws_a_box_where_there_is_no_room() -> None:
    narrow = replace(PARQUET, capability=replace(PARQUET.capability, max_terms=2))
    texts = [f"x = {number} and f > {number}.5 and s = 's{number}'" for number in range(5)]
    assert ask(*texts, language=narrow).text == "x BETWEEN 0 AND 4 AND s BETWEEN 's0' AND 's4'"


def assert_asked(trees: list[Expression], capability: LanguageCapability, some: list[Event], type: object) -> None:
    wants = [Want(str(number), tree) for number, tree in enumerate(trees)]
    found = asked_of_source(wants, Language(capability, render), type=type)  # type: ignore[arg-type]
    if found.native not in (TRUE, FALSE):
        check(found.native, capability, type)  # type: ignore[arg-type]
    for event in some:
        sent = holds(found.native, event)
        for tree, part in zip(trees, found.parts, strict=True):
            assert (sent and holds(part.residual, event)) == holds(tree, event)


@given(typed_filters(3), capabilities() | st.just(PARQUET.capability), st.lists(events(BASE), min_size=1, max_size=5))
def test_asked_of_source_loses_nothing(texts: list[str], capability: LanguageCapability, some: list[Event]) -> None:
    assert_asked([bind_text(text, typed_scope()) for text in texts], capability, some, BASE)


@given(st.lists(filters(1), min_size=1, max_size=3), capabilities(), st.lists(events(), min_size=1, max_size=3))
def test_asked_of_source_loses_nothing_of_any_kind(
    trees: list[Expression], capability: LanguageCapability, some: list[Event]
) -> None:
    assert_asked(trees, capability, some, SAMPLE)
