"""Covers that are told from sets alone are those that the algebra tells, and who has none has none."""

from __future__ import annotations

from random import Random

import pytest

from comity.filter.index.shape import shape_of
from comity.route.boxes import MOST_COMPARED, BoxIndex, FoundCover
from comity.route.filters import FilterPool, RouteFilter

_CONDITIONS = (
    "{} > 3", "{} > 5", "{} <= 8", "{} = 4", "{} in (4, 7)", "{} between 2 and 6", "{} not between 2 and 6",
    "{} = 'a'", "{} starts with 'ab'", "{} in ('a', 'abc')", "{} ends with 'b'", "exists {}", "not exists {}",
    "{} != 4", "{} = true", "{}.part > 3", "({0} > 3 or other = 1)", "{0} > 3 and {0} < 2",
)  # fmt: skip


_PLAIN = _CONDITIONS[:10]
"""Those that make boxes."""


def _text(chance: Random, conditions: tuple[str, ...]) -> str:
    names = chance.sample(("a", "b", "c", "d"), chance.randint(1, 3))
    return " and ".join(chance.choice(conditions).format(name) for name in names)


class Kept:
    """An index, and the same filters in a list."""

    def __init__(self) -> None:
        self.pool, self.index = FilterPool(), BoxIndex()
        self.filters: list[RouteFilter] = []

    def add(self, text: str) -> RouteFilter:
        filter = self.pool.read(text)
        if filter not in self.filters:
            self.index.add(filter, shape_of(filter.tree, self.pool.space))
            self.filters.append(filter)
        return filter

    def remove(self, filter: RouteFilter) -> None:
        self.index.remove(filter)
        self.filters.remove(filter)

    def cover(self, text: str) -> FoundCover:
        filter = self.pool.read(text)
        return self.index.cover(filter, shape_of(filter.tree, self.pool.space), lambda _: True)

    def covers(self, text: str) -> list[RouteFilter]:
        asked = self.pool.read(text)
        return [one for one in self.filters if one is not asked and self.pool.covers(one, asked)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("conditions", "least"), [(_CONDITIONS, 1), (_PLAIN, 80)])
def test_what_is_found_covers_and_who_surely_has_none_has_none(
    seed: int, conditions: tuple[str, ...], least: int
) -> None:
    chance, kept, told = Random(seed), Kept(), 0
    for _ in range(100):
        text = _text(chance, conditions)
        found, wanted = kept.cover(text), kept.covers(text)
        if found.cover is not None:
            assert found.cover in wanted
        elif found.is_sure:
            assert not wanted
        told += found.is_sure
        if chance.random() < 0.4:
            kept.add(text)
        if kept.filters and chance.random() < 0.2:
            kept.remove(chance.choice(kept.filters))
    assert told >= least


def test_only_those_that_suit_are_found() -> None:
    kept = Kept()
    wide, wider = kept.add("a > 3"), kept.add("a > 2")
    asked = kept.pool.read("a > 4 and b = 1")
    shape = shape_of(asked.tree, kept.pool.space)
    assert kept.index.cover(asked, shape, lambda one: one is wide).cover is wide
    assert kept.index.cover(asked, shape, lambda one: one is wider).cover is wider
    assert kept.index.cover(asked, shape, lambda _: False) == FoundCover(None, is_sure=True)


def test_a_filter_is_no_cover_of_itself() -> None:
    kept = Kept()
    kept.add("a > 3")
    assert kept.cover("a > 3") == FoundCover(None, is_sure=True)


def test_among_filters_that_are_no_boxes_nothing_is_sure() -> None:
    kept = Kept()
    odd = kept.add("a > 3 or b > 3")
    assert kept.cover("a > 4") == FoundCover(None, is_sure=False)
    kept.remove(odd)
    assert kept.cover("a > 4") == FoundCover(None, is_sure=True)


def test_who_has_very_many_relatives_is_left_to_the_index() -> None:
    kept = Kept()
    for number in range(MOST_COMPARED + 1):
        kept.add(f"a between {number} and {number}.5")
    assert not kept.cover("a between 300 and 301").is_sure
    kept.add("a between 299 and 302")
    assert kept.cover("a between 300 and 301").cover is not None, "the newest one is compared first"


def test_attributes_have_places_as_long_as_there_are_some() -> None:
    kept = Kept()
    filters = [kept.add(f"a{number} > 3") for number in range(70)]
    assert not kept.cover("b > 3").is_sure
    for filter in filters:
        kept.remove(filter)
    kept.add("b > 2")
    assert kept.cover("b > 3").cover is not None
