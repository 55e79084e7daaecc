"""The inverse of a mapping, derived from its expressions: each one is solved for the attributes in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from comity.contract.compose import compose
from comity.contract.invert.defined import given, has_value, is_ordinary, settled
from comity.contract.invert.found import Finding, InversionFacts, Obstacle, Recovered
from comity.contract.invert.lift import lifted
from comity.contract.invert.peel import peel
from comity.contract.invert.split import joined
from comity.contract.mapping import Mapping, Path
from comity.contract.shape import conditions, is_never_empty, leaves, structs
from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.expression.render import render
from comity.expression.simplify import simplify, simplify_value
from comity.expression.tree import (
    TRUE,
    And,
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    Literal,
    Not,
    TextTest,
    attributes,
    conjunction,
    disjunction,
)

__all__ = ["Inversion", "Obstacle", "Recovered", "invert"]


@dataclass(frozen=True, slots=True)
class Equation:
    """An expression over the source, its value over the target, and the attributes of the target it rests on."""

    made_from: Expression
    value: Expression
    origins: tuple[tuple[Path, Expression], ...]


@dataclass(frozen=True, slots=True)
class Inversion:
    """How far a mapping can be undone."""

    mapping: Mapping | None
    """The inverse; None when something does not come back."""
    recovered: dict[Path, Recovered]
    """What comes back, by path in the source."""
    obstacles: dict[Path, tuple[Obstacle, ...]]
    """By path in the source, what keeps an attribute from coming back."""
    within: Expression = TRUE
    """Over the source: for which events the way there and back is as good as the recovered attributes say."""

    @property
    def is_exact(self) -> bool:
        return self.mapping is not None and all(one.is_exact for one in self.recovered.values())

    @property
    def declared(self) -> tuple[str, ...]:
        """The extension functions whose declarations the inverse rests on."""
        return tuple(dict.fromkeys(name for one in self.recovered.values() for name in one.declared))

    @property
    def reason(self) -> str | None:
        """Why there is no inverse; None when there is one."""
        if self.mapping is not None:
            return None
        return "; ".join(f"{'.'.join(path)}: {some[0].text}" for path, some in self.obstacles.items())


def invert(mapping: Mapping) -> Inversion:
    """The inverse, or what stands against one.

    It is meant for events of the source type itself: what subtypes add is lost on any mapping.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> a, b = (EventType(name, "test", own={"n": AttributeType(Kind.INT)}) for name in "AB")
    >>> back = invert(Mapping(a, b, ((("n",), parse("n - 5")),))).mapping
    >>> render(back.expressions[0][1])
    'n + 5'
    """
    found = _Solver(mapping).solved()
    if found.mapping is None and len(mapping.steps) > 1:
        return _step_by_step(mapping) or found
    return found


def invert_alone(mapping: Mapping, path: Path) -> Inversion:
    """What one attribute of the target alone tells of the source, where it has a value."""
    alone = Mapping(mapping.source, mapping.target, tuple(one for one in mapping.expressions if one[0] == path))
    return _Solver(alone, is_present=True).solved()


def _step_by_step(mapping: Mapping) -> Inversion | None:
    """The inverse of a composed mapping out of those of its steps, where all of them are exact."""
    found = [_Solver(step).solved() for step in mapping.steps]
    if not all(one.is_exact for one in found):
        return None
    back, within = found[-1].mapping, found[-1].within
    for step, one in zip(reversed(mapping.steps[:-1]), reversed(found[:-1]), strict=True):
        assert back is not None
        assert one.mapping is not None
        back = compose(back, one.mapping)
        within = conjunction([one.within, step.translate(within)])
    assert back is not None
    recovered = {path: Recovered(path, made_from) for path, made_from in back.expressions}
    return Inversion(back, recovered, {}, simplify(within, mapping.source))


class _Solver:
    """Solves the equations of a mapping, those first that need nothing, then those that need what is known."""

    def __init__(self, mapping: Mapping, *, is_present: bool = False) -> None:
        self.mapping = mapping
        self.is_present = is_present
        self.source, self.target = mapping.source, mapping.target
        self.known = InversionFacts(self.source, self.target, certain=self._certain())
        self.obstacles: dict[Path, list[Obstacle]] = {}

    def solved(self) -> Inversion:
        equations = list(self._equations())
        before = None
        while before != (before := dict(self.known.recovered)):
            self.obstacles.clear()
            for equation in equations:
                for found in peel(equation.made_from, equation.value, self.known):
                    self._take(self._if_defined(found, equation))
            self._join_points()
        return self._result()

    def _certain(self) -> frozenset[Path]:
        """The optional attributes without which an event is not accepted."""
        if self.is_present:  # where a value is present, everything that it was made of is
            return frozenset([*leaves(self.source), *structs(self.source)])
        accepted = settled(Not(self.mapping.incomplete()), self.source)
        tests = accepted.items if isinstance(accepted, And) else (accepted,)
        named = [path for test in tests if (path := _needed(test)) is not None]
        return frozenset(path[:end] for path in named for end in range(1, len(path) + 1))

    def _equations(self) -> Iterator[Equation]:
        plain = [(lifted(simplify_value(made, self.source)), path, made) for path, made in self.mapping.expressions]
        yield from (Equation(simple, Attribute(path), ((path, made),)) for simple, path, made in plain)
        for whole, value, paths in joined([(simple, Attribute(path)) for simple, path, _ in plain]):
            origins = tuple((path, made) for _, path, made in plain if path in paths)
            yield Equation(whole, value, origins)

    def _take(self, found: Finding) -> None:
        if isinstance(found, Obstacle):
            for path in found.paths:
                self.obstacles.setdefault(path, []).append(found)
            return
        old = self.known.recovered.get(found.path)
        if old is None or _rank(found) < _rank(old):
            self.known.recovered[found.path] = found

    def _if_defined(self, found: Finding, equation: Equation) -> Finding:
        """The finding, if the target has the value whenever the source has the attribute."""
        if isinstance(found, Obstacle):
            return found
        tests = [found.within]
        for path, made_from in equation.origins:
            test = self._has_value(made_from, found.path) if self._may_lack(path) else TRUE
            if test != TRUE and not is_ordinary(test, self.source, found.path):
                text = f"`{render(made_from)}` has a value only when {render(test)}"
                return Obstacle(frozenset({found.path}), "no-value", text)
            tests.append(test)
        kept = [_if_present(test, found.path, self.source) for test in tests if test != TRUE]
        return replace(found, within=conjunction(list(dict.fromkeys(kept))))

    def _may_lack(self, path: Path) -> bool:
        """Whether an event without this attribute of the target is accepted."""
        declared = self.target.attribute_at(path)
        return not self.is_present and (declared is None or declared.optional)

    def _has_value(self, made_from: Expression, path: Path) -> Expression:
        """When the expression has a value, given that the attribute has one."""
        return TRUE if made_from == Attribute(path) else given(has_value(made_from, self.source), self.source, path)

    def _join_points(self) -> None:
        """A point whose coordinates come back comes back."""
        recovered = self.known.recovered
        for path, declared in leaves(self.source).items():
            parts = [recovered.get((*path, name)) for name in ("x", "y")]
            x, y = parts
            if declared.kind is Kind.POINT and x is not None and y is not None:
                self._take(
                    Recovered(
                        path,
                        Call("point", (x.expression, y.expression)),
                        max(x.relative, y.relative),
                        max(x.absolute, y.absolute),
                        conjunction([one.within for one in (x, y) if one.within != TRUE]),
                        tuple(dict.fromkeys(x.declared + y.declared)),
                    )
                )

    def _result(self) -> Inversion:
        paths = list(self._wanted())
        recovered = {path: self.known.recovered[path] for path in paths if path in self.known.recovered}
        lost = {path: self._why(path) for path in paths if path not in recovered} | self._empty_structs(recovered)
        tests = [one.within for one in recovered.values() if one.within != TRUE]
        within = simplify(conjunction(tests), self.source) if tests else TRUE
        expressions = tuple((path, one.expression) for path, one in recovered.items())
        back = None if lost else Mapping(self.target, self.source, expressions)
        return Inversion(back, recovered, lost, within)

    def _wanted(self) -> Iterator[Path]:
        """The attributes that must come back: structs that do as a whole, and what stands in the others."""
        whole = [path for path in structs(self.source) if path in self.known.recovered]
        outer = [path for path in whole if not any(_is_inside(path, other) for other in whole)]
        yield from outer
        yield from (path for path in leaves(self.source) if not any(_is_inside(path, other) for other in outer))

    def _why(self, path: Path) -> tuple[Obstacle, ...]:
        around = [path[:end] for end in range(1, len(path) + 1)]
        own = [one for at, some in self.obstacles.items() if at in around or _is_inside(at, path) for one in some]
        if own:
            return tuple(dict.fromkeys(own))
        return (Obstacle(frozenset({path}), "unused", "nothing in the target depends on it"),)

    def _empty_structs(self, recovered: dict[Path, Recovered]) -> dict[Path, tuple[Obstacle, ...]]:
        """Structs that are made from their parts again, though they can be there without any."""
        found: dict[Path, tuple[Obstacle, ...]] = {}
        for path, declared in structs(self.source).items():
            is_copied = any(path == other or _is_inside(path, other) for other in recovered)
            if not is_copied and not is_never_empty(declared):
                text = "an empty struct cannot be told from a missing one"
                found[path] = (Obstacle(frozenset({path}), "empty-struct", text),)
        return found


def _needed(test: Expression) -> Path | None:
    """The attribute without which a test is false."""
    match test:
        case Exists(Attribute(path)):
            return path
        case Compare(_, Attribute(path), Literal()) | Between(Attribute(path), Literal(), Literal()):
            return path
        case In(Attribute(path), _) | TextTest(_, Attribute(path)):
            return path
    return None


def _is_inside(path: Path, other: Path) -> bool:
    return len(path) > len(other) and path[: len(other)] == other


def _rank(found: Recovered) -> tuple[bool, bool, bool]:
    """What is better comes first."""
    return not found.is_exact, bool(found.declared), found.within != TRUE


def _if_present(test: Expression, path: Path, source: EventType) -> Expression:
    """The test, for events that have the attribute at all."""
    if not conditions(source, path) or path not in attributes(test):
        return test
    return disjunction([Not(Exists(Attribute(path))), test])
