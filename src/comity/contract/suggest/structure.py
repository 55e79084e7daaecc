"""One text on one side, its parts on the other: an address against a street and a city."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from comity.contract.suggest.attributes import Candidate, inside
from comity.contract.suggest.evidence import Evidence, Judge
from comity.contract.suggest.names import COMMON_WORDS, words
from comity.contract.suggest.samples import Samples
from comity.event.kinds import Kind

SEPARATOR = ", "
_SEPARATORS = (", ", "; ", " - ", " / ", ",", ";", "/", "|", " ")
_MOST_PARTS = 6
_PARTS = {
    "address": ("street", "house", "city", "town", "zip", "postcode", "country", "road"),
    "location": ("street", "house", "city", "town", "country", "room", "floor"),
    "place": ("street", "house", "city", "town", "country", "room", "floor"),
    "name": ("first", "last", "given", "family", "middle"),
    "person": ("first", "last", "given", "family", "middle"),
}
"""Which words are about parts of what a word is about."""
_SHARE = 0.6
"""Of the sample texts that must split into known parts."""


@dataclass(frozen=True, slots=True)
class JoinedText:
    """A text that says what several attributes of the other type say."""

    text: Candidate
    text_is_left: bool
    parts: tuple[Candidate, ...]
    """In the order in which the text has them."""
    separator: str
    evidence: Evidence
    seen: bool
    """Whether samples show the order and the separator."""
    struct: Candidate | None = None
    """The struct that the parts stand in, with perhaps other parts."""


def compositions(
    judge: Judge, texts: Sequence[Candidate], others: tuple[Candidate, ...], structs: Sequence[Candidate], is_left: bool
) -> Iterator[JoinedText]:
    """Every text of one side that may say what several texts of the other say; `is_left` tells the side of the text."""
    parts = tuple(one for one in others if one.type.kind in (Kind.STRING, Kind.INT))
    for text in texts:
        if text.type.kind is Kind.STRING:
            for group, struct, confidence, reason in _groups(judge, text, parts, structs):
                found = _composition(judge, text, is_left, group, struct, confidence, reason)
                if found is not None:
                    yield found


def _groups(
    judge: Judge, text: Candidate, parts: tuple[Candidate, ...], structs: Sequence[Candidate]
) -> Iterator[tuple[tuple[Candidate, ...], Candidate | None, float, str]]:
    """Parts that may make up the text, the struct that they are in, how likely it is, and why."""
    for struct in structs:
        alike = judge.alike(text, struct)
        if alike:
            yield inside(struct, parts), struct, alike * 70 + 10, f"{struct.name} is a struct with a name like it"
    named = words(text.path[-1])
    by_meaning = tuple(one for one in parts if _is_part(one, named))
    yield by_meaning, None, 50, "the parts of it by their names"
    yield _by_words([word for word in named if word not in COMMON_WORDS], parts), None, 60, "its name is made of theirs"
    yield parts, None, 0, "the parts of its sample values"


def _by_words(named: Sequence[str], parts: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The parts that have the words of a name, in its order; none if two have one word, or nobody has one."""
    owners = [[one for one in parts if word in words(one.path[-1])] for word in named]
    if any(len(given) != 1 for given in owners):
        return ()
    return tuple(dict.fromkeys(given[0] for given in owners))


def _is_part(one: Candidate, named: Sequence[str]) -> bool:
    wanted = {part for word in named for part in _PARTS.get(word, ())}
    return bool(wanted.intersection(words(one.path[-1])))


def _composition(
    judge: Judge,
    text: Candidate,
    is_left: bool,
    group: tuple[Candidate, ...],
    struct: Candidate | None,
    confidence: float,
    reason: str,
) -> JoinedText | None:
    if len(group) < 2:
        return None
    own, other = (judge.samples.left, judge.samples.right) if is_left else (judge.samples.right, judge.samples.left)
    found = _split(own, text, other, group)
    if found is None:
        if not confidence or len(group) > _MOST_PARTS:
            return None
        return JoinedText(text, is_left, group, SEPARATOR, Evidence(round(confidence), (reason,)), False, struct)
    separator, parts, share = found
    reasons = (reason, f"{share:.0%} of its sample values are made of theirs, with {separator!r} between")
    total = min(99, round(confidence * 0.6 + 55 * share))
    return JoinedText(text, is_left, parts, separator, Evidence(total, reasons), True, struct)


def _split(
    own: Samples, text: Candidate, other: Samples, group: Sequence[Candidate]
) -> tuple[str, tuple[Candidate, ...], float] | None:
    """The separator and the order of the parts that explain the most sample texts, and how many."""
    texts = own.texts(text.path)
    known = {one: {str(value) for value in other.values(one.path)} for one in group}
    best: tuple[str, tuple[Candidate, ...], float] | None = None
    for separator in _SEPARATORS:
        rows = [one.split(separator) for one in texts]
        for count in range(2, min(len(group), _MOST_PARTS) + 1):
            fitting = [row for row in rows if len(row) == count]
            parts = _columns(fitting, known)
            share = sum(_explained(row, parts, known) for row in fitting) / len(texts) if parts else 0.0
            if parts and share >= _SHARE and (best is None or share > best[2]):
                best = separator, parts, share
    return best


def _columns(rows: Sequence[Sequence[str]], known: dict[Candidate, set[str]]) -> tuple[Candidate, ...] | None:
    """For each column the part whose values it holds most often, each part once; None if a column has none."""
    chosen: list[Candidate] = []
    for column in zip(*rows, strict=True):
        free = [one for one in known if one not in chosen]
        best = max(free, key=lambda one: sum(piece in known[one] for piece in column), default=None)
        if best is None or not any(piece in known[best] for piece in column):
            return None
        chosen.append(best)
    return tuple(chosen) if rows else None


def _explained(row: Sequence[str], parts: Sequence[Candidate], known: dict[Candidate, set[str]]) -> bool:
    """Whether most pieces of a text are known values of their parts; unpaired samples need not have all."""
    hits = sum(piece in known[part] for piece, part in zip(row, parts, strict=True))
    return 2 * hits >= len(row)
