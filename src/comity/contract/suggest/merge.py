"""From two attributes that mean the same to one that both can give: its kind and unit, an expression of each side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from comity.contract.suggest.attributes import Candidate
from comity.contract.suggest.correspondence import LinearRelation, line_from, table_from, time_format_of
from comity.contract.suggest.names import words
from comity.contract.suggest.samples import SamplePair, Samples
from comity.event.kinds import NUMBERS, Kind, Value
from comity.event.types import AttributeType
from comity.expression.functions import FUNCTIONS
from comity.expression.tree import Arithmetic, Attribute, Call, Compare, Expression, Literal, Lookup, Quantity

_MOST_CODES = 50
"""Different values up to which texts are looked at as codes."""
_SHOWN = 10
_COUNTS = frozenset({"number", "count", "quantity", "amount", "total"})
"""Words for what is a number, also where it is written as a text."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The common attribute; an expression is None where a person has to write it."""

    type: AttributeType
    left: Expression | None
    right: Expression | None
    questions: tuple[tuple[str, str], ...] = ()
    """Codes and texts of what a person has to decide."""
    tables: Mapping[str, Mapping[Value, Value]] = field(default_factory=dict)
    partial: bool = False
    """Whether a side may have no value although its attribute has one."""

    def turned(self) -> Merged:
        """The same with left and right changed."""
        return replace(self, left=self.right, right=self.left)


def merge(left: Candidate, right: Candidate, samples: SamplePair) -> Merged:
    """What two attributes become; of two units the left one is taken, of two kinds the one that loses nothing."""
    kinds = {left.type.kind, right.type.kind}
    if kinds <= NUMBERS:
        found = _numbers(left, right, samples)
    elif kinds == {Kind.STRING}:
        found = _texts(left, right, samples)
    elif left.type.kind is right.type.kind:
        found = Merged(left.type, Attribute(left.path), Attribute(right.path))
    elif Kind.STRING in kinds and left.type.kind is Kind.STRING:
        found = _value_and_text(right, left, samples.left, _turned(samples, left, right)).turned()
    elif Kind.STRING in kinds:
        found = _value_and_text(left, right, samples.right, samples.pairs(left.path, right.path))
    elif Kind.DURATION in kinds:
        found = Merged(AttributeType(Kind.DURATION), _duration(left), _duration(right))
    else:
        found = _truths(left, right)
    return replace(found, type=_declared(found, left, right))


def _turned(samples: SamplePair, left: Candidate, right: Candidate) -> list[tuple[Value, Value]]:
    return [(other, one) for one, other in samples.pairs(left.path, right.path)]


def _declared(found: Merged, left: Candidate, right: Candidate) -> AttributeType:
    """Optional if a side may lack it, with the concept that one of them names."""
    optional = left.type.optional or right.type.optional or None in (found.left, found.right) or found.partial
    concept = left.type.concept or right.type.concept
    return replace(found.type, optional=optional, concept=concept)


def _numbers(left: Candidate, right: Candidate, samples: SamplePair) -> Merged:
    one, other = left.type, right.type
    kind = Kind.INT if one.kind is other.kind is Kind.INT else Kind.FLOAT
    if one.unit and other.unit:
        kind = kind if one.unit == other.unit else Kind.FLOAT
        return Merged(replace(one, kind=kind), Attribute(left.path), Attribute(right.path))
    line = line_from(samples.pairs(left.path, right.path))
    if line is not None and line != LinearRelation(1.0, 0.0):
        return _on_a_line(left, right, line)
    unit = one.unit or other.unit
    questions: tuple[tuple[str, str], ...] = ()
    if unit:
        bare = left if one.unit is None else right
        question = f"{bare.label} has no unit; the proposal takes it for {unit}. Say in which unit it is"
        questions = (("unit-missing", question),)
    elif kind is Kind.FLOAT and line is None:
        question = f"neither {left.label} nor {right.label} has a unit. Say whether they are in the same one"
        questions = (("unit-missing", question),)
    return Merged(AttributeType(kind, unit=unit), _measured(left, unit), _measured(right, unit), questions)


def _measured(one: Candidate, unit: str | None) -> Expression:
    """The attribute, with the unit that it is taken for if it has none."""
    plain = Attribute(one.path)
    return plain if unit is None or one.type.unit else Call("quantity", (plain, Literal(unit)))


def _on_a_line(left: Candidate, right: Candidate, line: LinearRelation) -> Merged:
    """The right number becomes the left one, as all pairs of samples show."""
    plain: Expression = Attribute(right.path)
    if right.type.unit:
        plain = Call("value", (plain, Literal(right.type.unit)))
    scaled = plain if line.factor == 1 else Arithmetic("*", plain, Literal(line.factor))
    symbol = "+" if line.offset > 0 else "-"
    moved = Arithmetic(symbol, scaled, Literal(abs(line.offset))) if line.offset else scaled
    unit = left.type.unit
    made = Call("quantity", (moved, Literal(unit))) if unit else moved
    question = f"in every pair of samples {left.label} is {line.factor:g} times {right.label}"
    question += f" and {line.offset:g} more" if line.offset else ""
    question += ". Say whether it always is"
    return Merged(AttributeType(Kind.FLOAT, unit=unit), Attribute(left.path), made, (("linear", question),))


def _texts(left: Candidate, right: Candidate, samples: SamplePair) -> Merged:
    plain = Merged(left.type, Attribute(left.path), Attribute(right.path))
    one, other = samples.left.texts(left.path), samples.right.texts(right.path)
    if one & other or not one or not other:
        return plain
    if {text.lower() for text in one} & {text.lower() for text in other}:
        differ = f"{left.label} and {right.label} differ in capitals"
        question = f"{differ}; the proposal writes lower case. Say whether that will do"
        one_case, other_case = (Call("lower", (Attribute(side.path),)) for side in (left, right))
        return Merged(left.type, one_case, other_case, (("lossy", question),))
    pairs = samples.pairs(left.path, right.path)
    if not pairs and max(len(one), len(other)) > _MOST_CODES:
        return plain
    if pairs:
        return _coded(left, right, pairs, sorted(other), f"one of {_listed(sorted(one))}")
    question = (
        f"{left.label} has {_listed(sorted(one))} in the samples, {right.label} has {_listed(sorted(other))}. If these "
        f"are different words for the same, write a table, and `lookup('{_table(right)}', {right.name})`"
    )
    return replace(plain, questions=(("codes-differ", question),))


def _value_and_text(value: Candidate, text: Candidate, of_text: Samples, pairs: list[tuple[Value, Value]]) -> Merged:
    """A number, truth or time, and on the other side a text that says it in some way."""
    texts = of_text.texts(text.path)
    reading = _reading(value, text, texts)
    if reading is not None:
        read = f"{text.label} is read as {_a(value.type.kind)}"
        question = f"{read}; a text that is none gives nothing. Say whether that will do"
        return Merged(value.type, Attribute(value.path), reading, (("text-read", question),), partial=True)
    if value.type.kind in (Kind.TIMESTAMP, Kind.DURATION):
        how = (
            "`parse_time` with its format, or a function of your own"
            if value.type.kind is Kind.TIMESTAMP
            else "a function"
        )
        question = f"{text.label} is a text, {value.label} {_a(value.type.kind)}. Read it with {how}, or leave it out"
        return Merged(value.type, Attribute(value.path), None, (("function-needed", question),))
    return _coded(value, text, pairs, sorted(texts), _a(value.type.kind))


def _reading(value: Candidate, text: Candidate, texts: Collection[str]) -> Expression | None:
    """How sample texts are read as values of the other kind; None if one of them cannot be.

    Without samples only a text is read whose name speaks of a number.
    """
    plain = Attribute(text.path)
    counts = value.type.kind in NUMBERS and not _COUNTS.isdisjoint(words(text.path[-1]))
    if not texts and not counts:
        return None
    if value.type.kind in NUMBERS:
        name = str(value.type.kind)
        if any(FUNCTIONS[name].call((one,)) is None for one in texts):
            return None
        read = Call(name, (plain,))
        return Call("quantity", (read, Literal(value.type.unit))) if value.type.unit else read
    if value.type.kind is Kind.TIMESTAMP:
        format = time_format_of(texts)
        return Call("parse_time", (plain, Literal(format))) if format else None
    return None


def _coded(
    target: Candidate, code: Candidate, pairs: list[tuple[Value, Value]], keys: list[str], wanted: str
) -> Merged:
    """The values of the target, and for the codes a table, which paired samples fill."""
    name = _table(code)
    rows = table_from(pairs) or {}
    if rows:
        missing = [key for key in keys if key not in rows]
        known = f": {_listed(missing)}" if missing else ", if there are any"
        question = f"the table {name} has what the samples show. Add the codes that it lacks{known}"
        lookup = Lookup(name, Attribute(code.path))
        asked = (("table-rows", question),)
        return Merged(target.type, Attribute(target.path), lookup, asked, {name: rows}, partial=True)
    known = f" ({_listed(keys)})" if keys else ""
    question = (
        f"{code.label} is written in other codes than {target.label}. Write a table {name} with {wanted} for each of "
        f"them{known}, and `lookup('{name}', {code.name})`"
    )
    return Merged(target.type, Attribute(target.path), None, (("table-needed", question),))


def _table(code: Candidate) -> str:
    return f"{code.path[-1]}_codes"


def _a(kind: Kind) -> str:
    return f"{'an' if kind is Kind.INT else 'a'} {kind}"


def _listed(texts: list[str]) -> str:
    more = ", …" if len(texts) > _SHOWN else ""
    return ", ".join(text[:40] for text in texts[:_SHOWN]) + more


def _duration(one: Candidate) -> Expression:
    """A duration, or a number in a unit of time as one."""
    plain = Attribute(one.path)
    if one.type.kind is Kind.DURATION:
        return plain
    return Arithmetic("*", Call("value", (plain, Literal("s"))), Quantity(1, "s"))


def _truths(left: Candidate, right: Candidate) -> Merged:
    """A truth on one side, a whole number on the other."""
    number = left if left.type.kind is Kind.INT else right
    taken = "the proposal takes 0 for false and anything else for true"
    question = f"{number.label} is a number; {taken}. Say whether that is meant"
    return Merged(AttributeType(Kind.BOOL), _truth(left), _truth(right), (("lossy", question),))


def _truth(one: Candidate) -> Expression | None:
    plain = Attribute(one.path)
    if one.type.kind is Kind.BOOL:
        return plain
    # A comparison with what is missing is false, so of an optional number a person has to say what is meant.
    return Compare("!=", plain, Literal(0)) if not one.type.optional else None


def parts_of(text: Candidate, parts: tuple[Candidate, ...], separator: str) -> list[Expression]:
    """The parts of a text between separators, each in the kind that it has on the other side."""
    rest: Expression = Attribute(text.path)
    pieces: list[Expression] = []
    for _ in parts[1:]:
        pieces.append(Call("before", (rest, Literal(separator))))
        rest = Call("after", (rest, Literal(separator)))
    pieces.append(rest)
    return [
        piece if part.type.kind is Kind.STRING else Call("int", (piece,))
        for part, piece in zip(parts, pieces, strict=True)
    ]


def joined(parts: tuple[Candidate, ...], separator: str) -> Expression:
    """The parts as one text."""
    made = _as_text(parts[0])
    for part in parts[1:]:
        made = Arithmetic("+", Arithmetic("+", made, Literal(separator)), _as_text(part))
    return made


def _as_text(one: Candidate) -> Expression:
    plain = Attribute(one.path)
    return plain if one.type.kind is Kind.STRING else Call("text", (plain,))
