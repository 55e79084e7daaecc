"""From two types to a proposal: who pairs with whom, what each pair becomes, and what nobody can tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from comity.contract.mapping import read_mapping
from comity.contract.suggest.assignment import assign
from comity.contract.suggest.attributes import Candidate, Path, candidates, structs
from comity.contract.suggest.common_names import CommonNames
from comity.contract.suggest.evidence import PAIRED, SURE, Evidence, Judge, lone_dimensions
from comity.contract.suggest.merge import Merged, joined, merge, parts_of
from comity.contract.suggest.names import Vocabulary, words
from comity.contract.suggest.proposal import Decision, Proposal, ProposedAttribute, Side, Unmatched
from comity.contract.suggest.samples import SamplePair, samples_of
from comity.contract.suggest.structure import JoinedText, compositions
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import Kind, Value
from comity.event.types import AttributeType, EventType
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import Attribute, Expression

_CLOSE = 15
"""Points within which another pair is as good as the one that was taken."""
_NOTABLE = 25
"""Confidence from which on the nearest attribute of the other type is worth telling."""
_EVENT_TIME = 45


def propose(
    left: EventType,
    right: EventType,
    events: Iterable[Event] = (),
    *,
    name: str | None = None,
    paired: bool = False,
    vocabulary: Vocabulary | None = None,
) -> Proposal:
    """A contract between two types of different domains.

    Sample events make it better. With `paired`, events of the two types that have the same id tell of the same
    happening, so that tables of codes and linear relations can be told from them, too.

    >>> text = AttributeType(Kind.STRING)
    >>> one = EventType("enter", "house_a", own={"personName": text, "roomName": text})
    >>> other = EventType("enter", "house_b", own={"room": text, "person": text, "houseID": AttributeType(Kind.INT)})
    >>> found = propose(one, other)
    >>> [(one.name, one.left.expression, one.right.expression, one.sure) for one in found.attributes]
    [('person', 'personName', 'person', True), ('room', 'roomName', 'room', True)]
    """
    _refuse_one_domain(left, right)
    work = _Work(left, right, samples_of(left, right, events, paired=paired), vocabulary)
    work.pair()
    return work.proposal(contract_name(left.name) if name is None else name)


def _refuse_one_domain(left: EventType, right: EventType) -> None:
    if left.namespace == right.namespace:
        hint = "a contract joins types of different domains; inside one domain let a type extend the other"
        raise Misuse(f"both types are of {left.namespace}", code="one-domain-contract", hint=hint)


@dataclass(slots=True)
class _Work:
    """The pairs that were found, and what is left of the attributes of both sides."""

    left: EventType
    right: EventType
    samples: SamplePair
    vocabulary: Vocabulary | None
    judge: Judge = field(init=False)
    free: tuple[list[Candidate], list[Candidate]] = field(init=False)
    scores: dict[tuple[Path, Path], Evidence] = field(init=False)
    attributes: list[ProposedAttribute] = field(default_factory=list)
    tables: dict[str, Mapping[Value, Value]] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    names: CommonNames = field(default_factory=CommonNames)

    def __post_init__(self) -> None:
        one, other = candidates(self.left), candidates(self.right)
        weak = {*words(self.left.name), *words(self.right.name)}
        self.judge = Judge(weak, self.samples, self.vocabulary, lone_dimensions(one, other))
        self.free = (list(one), list(other))
        self.scores = {(a.path, b.path): self.judge.compare(a, b) for a in one for b in other}

    def pair(self) -> None:
        """Take compositions that beat any simple pair of their parts, then the best simple pairs, then times."""
        for composition in self._compositions():
            self._take_composition(composition)
        for left, right in self._simple_pairs():
            self._take_pair(left, right)
        self._take_times()

    def proposal(self, name: str) -> Proposal:
        unmatched = tuple(self._unmatched())
        self.decisions += [_decide_unmatched(one, self._other(one.type)) for one in unmatched]
        self.attributes.sort(key=self._order)
        attributes = self._that_bind(name)
        found = (name, self.left.name, self.left, self.right, attributes, self.tables, unmatched)
        return Proposal(*found, tuple(self.decisions))

    def _order(self, one: ProposedAttribute) -> tuple[int, int]:
        """As the left type has its attributes, then as the right one has."""
        places = [[each.name for each in candidates(type)] for type in (self.left, self.right)]
        left, right = (
            min((names.index(name) for name in side.names), default=len(names))
            for names, side in zip(places, (one.left, one.right), strict=True)
        )
        return left, right

    # Pairs

    def _simple_pairs(self) -> list[tuple[Candidate, Candidate]]:
        one, other = self.free
        scores = [[float(self.scores[a.path, b.path].confidence) for b in other] for a in one]
        return [(one[row], other[column]) for row, column in assign(scores, PAIRED)]

    def _take_pair(self, left: Candidate, right: Candidate) -> None:
        evidence = self.scores[left.path, right.path]
        merged = merge(left, right, self.samples)
        name = self.names.choose(left, right, self.vocabulary)
        self._add((name,), merged, ((left,), (right,)), evidence)
        self._decide_pair(left, right, evidence, already=bool(merged.questions))

    def _add(
        self,
        path: Path,
        merged: Merged,
        made_from: tuple[Sequence[Candidate], Sequence[Candidate]],
        evidence: Evidence,
    ) -> None:
        left, right = (
            Side(tuple(one.name for one in given), render(tree) if tree is not None else None)
            for given, tree in zip(made_from, (merged.left, merged.right), strict=True)
        )
        found = ProposedAttribute(path, merged.type, left, right, evidence.confidence, evidence.reasons)
        self.attributes.append(found)
        self.tables |= merged.tables
        self.decisions += [Decision(".".join(path), code, question) for code, question in merged.questions]
        for free, given in zip(self.free, made_from, strict=True):
            free[:] = [one for one in free if one not in given]

    def _decide_pair(self, left: Candidate, right: Candidate, evidence: Evidence, already: bool) -> None:
        about = f"{left.name}, {right.name}"
        rivals = [*self._rivals(left, right, evidence.confidence)]
        if rivals:
            question = f"{left.label} and {right.label} may as well be {' or '.join(rivals)}. Say which belong together"
            self.decisions.append(Decision(about, "ambiguous", question))
        elif evidence.confidence < SURE and not already:
            were = f"were paired with {evidence.confidence} of 100 only"
            question = f"{left.label} and {right.label} {were}. Say whether they mean the same"
            self.decisions.append(Decision(about, "unsure", question))

    def _rivals(self, left: Candidate, right: Candidate, confidence: int) -> Iterator[str]:
        """Other pairs with one of the two that are nearly as likely, unless a better partner has taken the other."""
        for (a, b), evidence in self.scores.items():
            rival = (a == left.path) != (b == right.path)
            best = max(PAIRED, confidence - _CLOSE)
            if rival and evidence.confidence >= best and not self._is_better_placed(a, b, evidence.confidence, left):
                yield f"{'.'.join(a)} and {'.'.join(b)}"

    def _is_better_placed(self, a: Path, b: Path, confidence: int, left: Candidate) -> bool:
        """Whether the partner that the rival pair would take has a clearly better one."""
        if a == left.path:
            others = [found.confidence for (one, other), found in self.scores.items() if other == b and one != a]
        else:
            others = [found.confidence for (one, other), found in self.scores.items() if one == a and other != b]
        return max(others, default=0) > confidence + _CLOSE

    # Texts and their parts

    def _compositions(self) -> list[JoinedText]:
        left, right = tuple(self.free[0]), tuple(self.free[1])
        found = [
            *compositions(self.judge, left, right, structs(self.right), True),
            *compositions(self.judge, right, left, structs(self.left), False),
        ]
        return sorted((one for one in found if self._is_best(one)), key=lambda one: -one.evidence.confidence)

    def _is_best(self, one: JoinedText) -> bool:
        parts = {part.path for part in one.parts}
        own = 0 if one.text_is_left else 1
        rivals = [
            found.confidence
            for pair, found in self.scores.items()
            if pair[own] == one.text.path or pair[1 - own] in parts
        ]
        return one.evidence.confidence >= max(PAIRED, *rivals)

    def _take_composition(self, one: JoinedText) -> None:
        taken = {*self.free[0], *self.free[1]}
        if not {one.text, *one.parts} <= taken:
            return
        if one.seen:
            self._take_parts(one, parts_of(one.text, one.parts, one.separator))
        else:
            self._take_joined(one)

    def _take_joined(self, one: JoinedText) -> None:
        """The contract has the text."""
        made: tuple[Expression, Expression] = (Attribute(one.text.path), joined(one.parts, one.separator))
        optional = any(part.type.optional for part in (one.text, *one.parts))
        parts = ", ".join(part.name for part in one.parts)
        question = (
            f"{one.text.label} is one text, and {parts} are its parts; the contract has the text, so the parts can no "
            f"longer be told apart. Check their order and the {one.separator!r} between them"
        )
        merged = Merged(AttributeType(Kind.STRING, optional), *made, (("lossy", question),))
        given: tuple[Sequence[Candidate], Sequence[Candidate]] = ((one.text,), one.parts)
        name = self.names.take(one.struct or one.text)
        if not one.text_is_left:
            merged, given = merged.turned(), (given[1], given[0])
        self._add((name,), merged, given, one.evidence)

    def _take_parts(self, one: JoinedText, pieces: list[Expression]) -> None:
        """The contract has the parts."""
        names = ", ".join(part.name for part in one.parts)
        how = f"is taken apart at {one.separator!r} into {names}"
        question = f"{one.text.label} {how}. Say whether every text is written so"
        for part, piece in zip(one.parts, pieces, strict=True):
            merged = Merged(replace(part.type, optional=True), piece, Attribute(part.path))
            given: tuple[Sequence[Candidate], Sequence[Candidate]] = ((one.text,), (part,))
            if not one.text_is_left:
                merged, given = merged.turned(), (given[1], given[0])
            self._add((self.names.take(part),), merged, given, one.evidence)
        self.decisions.append(Decision(one.text.name, "decomposed", question))

    # What only one side has

    def _take_times(self) -> None:
        """A time that only one side has: of the other, the time of the event may be meant."""
        for side, free in enumerate(self.free):
            for one in [each for each in free if each.type.kind is Kind.TIMESTAMP]:
                if "time" in words(one.path[-1]) or "timestamp" in words(one.path[-1]):
                    self._take_time(one, side)

    def _take_time(self, one: Candidate, side: int) -> None:
        other = self.right if side == 0 else self.left
        lacks = f"{other.namespace} has nothing like {one.label}"
        question = f"{lacks}; the proposal takes the time of the event. Say whether that is meant"
        trees: list[Expression] = [Attribute(one.path), Attribute(("event", "time"))]
        given: list[Sequence[Candidate]] = [(one,), ()]
        left, right = (0, 1) if side == 0 else (1, 0)
        merged = Merged(one.type, trees[left], trees[right], (("added", question),))
        evidence = Evidence(_EVENT_TIME, ("the time of the event",))
        self._add((self.names.take(one),), merged, (given[left], given[right]), evidence)

    def _unmatched(self) -> Iterator[Unmatched]:
        for side, type in enumerate((self.left, self.right)):
            for one in self.free[side]:
                near = max(self._scores_of(one, side), key=lambda found: found[1], default=("", 0))
                known = near[1] >= _NOTABLE
                yield Unmatched(type, one, near[0] if known else None, near[1] if known else 0)

    def _scores_of(self, one: Candidate, side: int) -> Iterator[tuple[str, int]]:
        for pair, found in self.scores.items():
            if pair[side] == one.path:
                yield ".".join(pair[1 - side]), found.confidence

    def _other(self, type: EventType) -> EventType:
        return self.right if type is self.left else self.left

    # Checks

    def _that_bind(self, name: str) -> tuple[ProposedAttribute, ...]:
        """The attributes, each expression tried on its type; one that does not fit is left to a person."""
        common = EventType(self.left.name, name, own={one.path[0]: one.type for one in self.attributes})
        faults: list[dict[str, Misuse]] = []
        for type, side in ((self.left, "left"), (self.right, "right")):
            texts = {one.name: made for one in self.attributes if (made := getattr(one, side).expression)}
            _, found = read_mapping(texts, Scope(type, tables=self.tables), common)
            faults.append({at: error for at, error in found if at})
        return tuple(self._without_faults(one, *faults) for one in self.attributes)

    def _without_faults(
        self, one: ProposedAttribute, left: Mapping[str, Misuse], right: Mapping[str, Misuse]
    ) -> ProposedAttribute:
        for side, faults in (("left", left), ("right", right)):
            error = faults.get(one.name)
            if error is not None:
                given: Side = getattr(one, side)
                question = f"{given.expression} does not fit ({error.message}). Write an expression for it"
                self.decisions.append(Decision(one.name, "expression-needed", question))
                left_open: Mapping[str, Side] = {side: Side(given.names, None)}
                one = replace(one, type=one.type.as_optional(), **left_open)  # type: ignore[arg-type]
        return one


def _decide_unmatched(one: Unmatched, other: EventType) -> Decision:
    near = f" (most like {one.nearest}, {one.confidence} of 100)" if one.nearest else ""
    question = (
        f"only {one.type.namespace} has {one.attribute.name}{near}. Leave it out, keep it as optional, or give "
        f"{other.namespace} a constant or an expression for it"
    )
    return Decision(one.attribute.name, "unmatched", question)


def contract_name(type_name: str) -> str:
    """The name of a contract after that of a type.

    >>> contract_name("FireDetected")
    'fire_detected'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type_name).lower()
