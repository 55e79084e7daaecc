"""How likely it is that two attributes mean the same, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from comity.contract.suggest.attributes import Candidate
from comity.contract.suggest.correspondence import line_from, table_from
from comity.contract.suggest.names import SYNONYM, Vocabulary, concept_likeness, likeness, words
from comity.contract.suggest.samples import SamplePair
from comity.errors import Misuse
from comity.event.kinds import NUMBERS, Kind
from comity.event.types import AttributeType
from comity.meaning.units import conversion, dimension, is_time

PAIRED, SURE = 40, 70
"""From which confidence on two attributes are proposed as a pair, and from which on nobody has to look at it."""

_NAME, _NAME_WITH_SURROUNDINGS = 70, 0.95
_PLAIN_NUMBER = "[number]"
_WRITTEN_AS_TEXT = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION})
_ENOUGH = 3
"""Different values from which on it says something that no two are the same."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A confidence from 0 to 99, and its reasons."""

    confidence: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares attributes of two types."""

    weak: Collection[str]
    """Words that the types' names hold, too, so that they say little."""
    samples: SamplePair = field(default_factory=SamplePair)
    vocabulary: Vocabulary | None = None
    lone_dimensions: frozenset[str] = frozenset()
    """What only one attribute of each type measures."""

    def compare(self, left: Candidate, right: Candidate) -> Evidence:
        """The evidence that two attributes mean the same."""
        refusal = _refusal(left.type, right.type)
        if refusal:
            return Evidence(0, (refusal,))
        found = [*self._by_name(left, right), *self._by_declaration(left.type, right.type)]
        found += self._by_samples(left, right)
        total = round(sum(points for points, _ in found))
        return Evidence(max(0, min(99, total)), tuple(reason for _, reason in found))

    def alike(self, left: Candidate, right: Candidate) -> float:
        """How alike the names are, from 0 to 1, with or without the structs around them, or by their concepts."""
        by_words = max(
            likeness(one, other, self.weak, self.vocabulary) * (1 if short else _NAME_WITH_SURROUNDINGS)
            for one, other, short in _spellings(left, right)
        )
        if self.vocabulary is None:
            return by_words
        return max(by_words, concept_likeness(left.path[-1], right.path[-1], self.vocabulary))

    def _by_name(self, left: Candidate, right: Candidate) -> Iterator[tuple[float, str]]:
        alike = self.alike(left, right)
        if alike:
            how = "the same" if alike == 1 else "much alike" if alike >= SYNONYM * 0.95 else "a little alike"
            yield alike * _NAME, f"names {how}"

    def _by_declaration(self, left: AttributeType, right: AttributeType) -> Iterator[tuple[float, str]]:
        if left.concept and right.concept:
            yield self._by_concept(left.concept, right.concept)
        if left.kind is right.kind:
            yield 10, f"both {left.kind}"
        elif {left.kind, right.kind} <= NUMBERS:
            yield 5, "both numbers"
        else:
            yield -15, f"{left.kind} against {right.kind}"
        if left.unit and right.unit:
            measured = dimension(left.unit)
            alone = measured != _PLAIN_NUMBER and measured in self.lone_dimensions
            reason = f"{left.unit} and {right.unit} measure the same"
            yield (35, f"{reason}, and nothing else does") if alone else (10, reason)

    def _by_concept(self, left: str, right: str) -> tuple[float, str]:
        if left == right or likeness(words(left), words(right), (), self.vocabulary) >= SYNONYM:
            return 35, f"the same concept, {left}"
        return -40, f"different concepts, {left} and {right}"

    def _by_samples(self, left: Candidate, right: Candidate) -> Iterator[tuple[float, str]]:
        if self.samples.paired:
            yield from self._by_pairs(left, right)
        if left.type.kind is right.type.kind is Kind.STRING:
            yield from self._by_texts(left, right)
        elif {left.type.kind, right.type.kind} <= NUMBERS:
            yield from self._by_ranges(left, right)

    def _by_texts(self, left: Candidate, right: Candidate) -> Iterator[tuple[float, str]]:
        one, other = self.samples.left.folded_texts(left.path), self.samples.right.folded_texts(right.path)
        least = min(len(one), len(other))
        shared = len(one & other)
        if shared:
            yield 25 * shared / least, f"{shared} of {least} different sample values are the same"
        elif least >= _ENOUGH:
            yield -10, "no sample value is the same"

    def _by_ranges(self, left: Candidate, right: Candidate) -> Iterator[tuple[float, str]]:
        one = self.samples.left.numbers(left.path)
        other = in_unit(self.samples.right.numbers(right.path), right.type.unit, left.type.unit)
        if min(len(set(one)), len(set(other))) < _ENOUGH:
            return
        shared = min(max(one), max(other)) - max(min(one), min(other))
        if shared >= 0:
            yield 8, "the ranges of the sample values meet"
        else:
            yield -20, "the ranges of the sample values are apart"

    def _by_pairs(self, left: Candidate, right: Candidate) -> Iterator[tuple[float, str]]:
        pairs = self.samples.pairs(left.path, right.path)
        if len({other for _, other in pairs if other.__hash__}) < 2:
            return
        if all(one == other for one, other in pairs):
            yield 40, f"the same in all {len(pairs)} pairs of samples"
        elif {left.type.kind, right.type.kind} <= NUMBERS:
            if line_from(pairs):
                yield 30, f"on one line in all {len(pairs)} pairs of samples"
        elif table_from(pairs) and len(pairs) > len({other for _, other in pairs}):
            yield 25, f"one value for each other one in all {len(pairs)} pairs of samples"


def lone_dimensions(left: Iterable[Candidate], right: Iterable[Candidate]) -> frozenset[str]:
    """What exactly one attribute of each type measures."""
    one, other = (Counter(dimension(each.type.unit) for each in side if each.type.unit) for side in (left, right))
    return frozenset(measured for measured, count in one.items() if count == 1 and other[measured] == 1)


def in_unit(numbers: list[int | float], source: str | None, target: str | None) -> list[int | float]:
    """Numbers in another unit of the same dimension; as they are if one of the units is not known."""
    if source is None or target is None or source == target:
        return numbers
    try:
        change = conversion(source, target)
    except Misuse:  # of money the rate is needed
        return []
    return [float(change.apply(number)) for number in numbers]


def _spellings(left: Candidate, right: Candidate) -> Iterator[tuple[list[str], list[str], bool]]:
    """The words to compare, and whether they are those of the attributes alone."""
    surrounded = [[word for name in one.path for word in words(name)] for one in (left, right)]
    yield surrounded[0], surrounded[1], len(left.path) == len(right.path) == 1
    yield list(words(left.path[-1])), list(words(right.path[-1])), len(left.path) == len(right.path)
    if (left.type.concept is None) != (right.type.concept is None):
        one, other = (list(words(side.type.concept or side.path[-1])) for side in (left, right))
        yield one, other, False


def _refusal(left: AttributeType, right: AttributeType) -> str | None:
    """Why two attributes can never be the same."""
    kinds = {left.kind, right.kind}
    if left.kind is right.kind is Kind.LIST and left.element and right.element:
        return _refusal(left.element, right.element)
    if left.unit and right.unit and dimension(left.unit) != dimension(right.unit):
        return f"{left.unit} and {right.unit} do not measure the same"
    if len(kinds) == 1 or kinds <= NUMBERS or (Kind.STRING in kinds and kinds & _WRITTEN_AS_TEXT):
        return None
    if kinds == {Kind.BOOL, Kind.INT}:
        return None
    if Kind.DURATION in kinds and any(one.unit and is_time(one.unit) for one in (left, right)):
        return None
    return f"a {left.kind} never is a {right.kind}"
