"""Satisfiability by an SMT solver: for relations between attributes, and for what a search cannot finish.

Each attribute's universe is cut into cells by the sets that the formula names, so that membership becomes a choice
of one cell: strings are decided here as exactly as in the search, whatever their languages. Numbers that take part
in relations get a variable of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations
from typing import Any as Untyped
from typing import assert_never

import z3

from comity.filter.formula import All, Any, Formula, Less, Member, Opaque, Same
from comity.filter.linear import Linear
from comity.filter.search import Narrowed
from comity.filter.sets.numbers import NumberSet
from comity.filter.sets.strings import StringSet
from comity.filter.sets.values import ValueSet
from comity.filter.solution import Solution
from comity.filter.space import Path, Space
from comity.limits import limits

_ENUMERATED = 64
"""A cell of at most so many strings is cut into single ones, so that equality between attributes is exact on it."""


_TRIES = 8
"""Solutions that are looked at when one rests on an order of strings that its witness does not bear out."""


def solve(wanted: Formula, space: Space, is_proven: Callable[[Solution], bool]) -> Solution | bool | None:
    """A solution, proven where one of the first few can be; None when there is none, False when the solver does not
    know.
    """
    return _Encoding(wanted, space).solve(is_proven)


class _Encoding:
    """The formula in the solver's terms."""

    def __init__(self, wanted: Formula, space: Space) -> None:
        self.wanted, self.space = wanted, space
        self.literals = list(_literals(wanted))
        self.opaque: dict[Untyped, z3.BoolRef] = {}
        self.solver = z3.SimpleSolver()  # up to 30 times faster than the tactics of `Solver` on formulas this small
        self.solver.set("timeout", limits().solver_timeout_ms)
        self.solver.set("random_seed", 7)

    def solve(self, is_proven: Callable[[Solution], bool]) -> Solution | bool | None:
        for path in self.cells:
            self._add_cells(path)
        for path in self.cells:
            self._add_structure(path)
        for left, right in combinations(self.ordered, 2):
            self._add_order(left, right)
        self.solver.add(self._encode(self.wanted))
        first: Solution | None = None
        for _ in range(_TRIES):
            outcome = self.solver.check()
            if outcome != z3.sat:
                return first or (None if outcome == z3.unsat else False)
            model = self.solver.model()
            found = self._solution(model)
            if found.is_certain or is_proven(found):
                return found
            first = first or found
            chosen = [(self._cell(path), model.eval(self._cell(path), model_completion=True)) for path in self.cells]
            self.solver.add(z3.Or([cell != at for cell, at in chosen]))
        return first

    @cached_property
    def groups(self) -> dict[Path, Path]:
        """Attributes that are compared with each other share their cells: each path's representative."""
        leader: dict[Path, Path] = {}

        def find(path: Path) -> Path:
            while leader.setdefault(path, path) != path:
                path = leader[path]
            return path

        for literal in self.literals:
            if isinstance(literal, Same | Less):
                leader[find(literal.left)] = find(literal.right)
        return {path: find(path) for path in list(leader)}

    @cached_property
    def ordered(self) -> list[Path]:
        """Attributes whose order as strings matters."""
        found = ((literal.left, literal.right) for literal in self.literals if isinstance(literal, Less))
        return sorted({path for pair in found for path in pair})

    @cached_property
    def cells(self) -> dict[Path, list[ValueSet]]:
        """Per attribute, its universe cut so finely that each set of the formula is a union of cells."""
        sets: dict[Path, list[ValueSet]] = {path: [] for path in self.groups}
        for literal in self.literals:
            if isinstance(literal, Member):
                sets.setdefault(literal.path, []).append(literal.values)
            elif isinstance(literal, Linear):
                for path, _ in literal.terms:
                    sets.setdefault(path, [])
        for path in list(sets):
            for length in range(1, len(path)):
                if path[0] != "event":
                    sets.setdefault(path[:length], [])
        joint = {path: [] for path in set(self.groups.values())}  # type: dict[Path, list[ValueSet]]
        for path, leader in self.groups.items():
            joint[leader] += [*sets[path], self.space.universe(path)]
        return {path: self._cut(path, joint.get(self.groups.get(path, path), own)) for path, own in sets.items()}

    def _cut(self, path: Path, sets: list[ValueSet]) -> list[ValueSet]:
        """Missing and struct are always cells of their own: attributes inside others depend on them."""
        whole = ValueSet.open_universe() if path in self.groups else self.space.universe(path)
        first = [ValueSet.only_missing(), ValueSet(other=True)]
        cells = [whole]
        for values in [*first, *dict.fromkeys(sets)]:
            parts = ((cell.intersect(values), cell.difference(values)) for cell in cells)
            cells = [part for pair in parts for part in pair if not part.is_empty]
        return [part for cell in cells for part in (_single(cell) if path in self.groups else [cell])]

    def _add_cells(self, path: Path) -> None:
        """An attribute is in exactly one cell, and its number in that cell's numbers."""
        chosen, cells = self._cell(path), self.cells[path]
        self.solver.add(chosen >= 0, chosen < len(cells))
        universe = self.space.universe(path)
        for at, cell in enumerate(cells):
            if path in self.groups and not universe.overlaps(cell):
                self.solver.add(chosen != at)
            elif path in self.groups and _is_single(cell):
                self.solver.add(z3.Implies(chosen == at, self._place(path) == 0))
            for name in self._related_classes(path):
                numbers: NumberSet = getattr(cell, name)
                self.solver.add(z3.Implies(chosen == at, self._in_numbers(path, name, numbers)))

    def _related_classes(self, path: Path) -> set[str]:
        linear = (literal for literal in self.literals if isinstance(literal, Linear))
        return {literal.values for literal in linear if any(path == used for used, _ in literal.terms)}

    def _in_numbers(self, path: Path, name: str, numbers: NumberSet) -> Untyped:
        """The variable lies in the numbers of the cell; when the cell holds other values too, that choice is left
        open.
        """
        if numbers.is_empty:
            return z3.BoolVal(True)
        variable = self._number(path, name)
        inside = z3.Or([_within(variable, *ends) for ends in numbers.intervals()])
        is_number = self._is_number(path, name)
        return z3.Implies(is_number, inside)

    def _add_structure(self, path: Path) -> None:
        """What stands inside another attribute is there only when that one is a struct."""
        parent = path[:-1]
        if parent not in self.cells or path[0] == "event":
            return
        own_missing = self._in_set(path, ValueSet.only_missing())
        parent_struct = self._in_set(parent, ValueSet(other=True))
        self.solver.add(z3.Implies(z3.Not(own_missing), parent_struct))
        if self.space.requires(path):
            self.solver.add(z3.Implies(parent_struct, z3.Not(own_missing)))

    def _add_order(self, left: Path, right: Path) -> None:
        """Strings are ordered: equal ones have one rank, and a cell that lies before another gives lower ranks."""
        if self.groups[left] != self.groups[right]:
            return
        strings = ValueSet(strings=StringSet.all())
        both = z3.And(self._in_set(left, strings), self._in_set(right, strings))
        equal_ranks = self._rank(left) == self._rank(right)
        self.solver.add(z3.Implies(both, self._encode(Same(left, right, True)) == equal_ranks))
        cells = list(enumerate(self.cells[left]))
        for (low, one), (high, other) in permutations(cells, 2):
            if _lies_before(one.strings, other.strings):
                for first, second in ((left, right), (right, left)):
                    placed = z3.And(self._cell(first) == low, self._cell(second) == high)
                    self.solver.add(z3.Implies(placed, self._rank(first) < self._rank(second)))

    def _encode(self, item: Formula) -> Untyped:
        match item:
            case bool():
                return z3.BoolVal(item)
            case All(items):
                return z3.And([self._encode(part) for part in items])
            case Any(items):
                return z3.Or([self._encode(part) for part in items])
            case Member(path, values):
                return self._in_set(path, values)
            case Opaque(atom, positive):
                known = self.opaque.setdefault(atom, z3.Bool(f"opaque{len(self.opaque)}"))
                return known if positive else z3.Not(known)
            case Same(left, right, equal):
                cells = self._cell(left) == self._cell(right)
                same = z3.And(cells, self._place(left) == self._place(right))
                return same if equal else z3.Not(same)
            case Less(left, right, less):
                before = self._rank(left) < self._rank(right)
                return before if less else z3.Not(before)
            case Linear():
                return self._relation(item)
        assert_never(item)

    def _relation(self, relation: Linear) -> Untyped:
        total = z3.Sum([_rational(factor) * self._number(path, relation.values) for path, factor in relation.terms])
        bound = _rational(relation.bound)
        kinds = [self._is_number(path, relation.values) for path, _ in relation.terms]
        test = {
            "=": total == bound,
            "!=": total != bound,
            "<": total < bound,
            "<=": total <= bound,
            ">": total > bound,
            ">=": total >= bound,
        }[relation.operator]
        return z3.And(*kinds, test)

    def _in_set(self, path: Path, values: ValueSet) -> Untyped:
        chosen = self._cell(path)
        return z3.Or([chosen == at for at, cell in enumerate(self.cells[path]) if values.covers(cell)])

    def _is_number(self, path: Path, name: str) -> Untyped:
        """Cells of a class are never mixed with others where a relation stands: its memberships cut them apart."""
        chosen = self._cell(path)
        cells = enumerate(self.cells[path])
        return z3.Or([chosen == at for at, cell in cells if not getattr(cell, name).is_empty])

    def _cell(self, path: Path) -> Untyped:
        return z3.Int(f"cell:{'.'.join(path)}")

    def _place(self, path: Path) -> Untyped:
        return z3.Int(f"place:{'.'.join(path)}")

    def _rank(self, path: Path) -> Untyped:
        return z3.Int(f"rank:{'.'.join(path)}")

    def _number(self, path: Path, name: str) -> Untyped:
        discrete = getattr(self.space.universe(path), name).discrete
        return (z3.Int if discrete else z3.Real)(f"{name}:{'.'.join(path)}")

    def _solution(self, model: z3.ModelRef) -> Solution:
        branch = Narrowed()
        numbers: dict[Path, Fraction] = {}
        twins: dict[Path, tuple[int, int]] = {}
        for path, cells in self.cells.items():
            at = model.eval(self._cell(path), model_completion=True).as_long()
            branch.sets[path] = cells[at]
            for name in self._related_classes(path):
                if not getattr(cells[at], name).is_empty:
                    value = model.eval(self._number(path, name), model_completion=True)
                    numbers[path] = Fraction(
                        str(value.as_fraction() if z3.is_rational_value(value) else value.as_long())
                    )
            if path in self.groups:
                twins[path] = at, model.eval(self._place(path), model_completion=True).as_long()
        for atom, known in self.opaque.items():
            branch.assumed[atom] = bool(model.eval(known, model_completion=True))
        strings = [path for path in self.ordered if not branch.sets[path].strings.is_empty]
        ranks = {path: model.eval(self._rank(path), model_completion=True).as_long() for path in strings}
        return Solution(branch, numbers, twins, ranks)


def _literals(item: Formula) -> Iterator[Formula]:
    if isinstance(item, All | Any):
        for part in item.items:
            yield from _literals(part)
    else:
        yield item


def _single(cell: ValueSet) -> Iterator[ValueSet]:
    """The cell in parts that hold one value each, where it has few, beside the rest of it."""
    members = cell.strings.members(_ENUMERATED) if cell.strings.is_finite else None
    rest = cell
    for text in members or ():
        one = ValueSet(strings=type(cell.strings).of([text]))
        yield one
        rest = rest.difference(one)
    for value in cell.bools:
        one = ValueSet(bools=frozenset({value}))
        yield one
        rest = rest.difference(one)
    if not rest.is_empty:
        yield rest


def _lies_before(one: StringSet, other: StringSet) -> bool:
    """Whether every string of the one comes before every string of the other, as far as intervals tell."""
    if one.is_empty or other.is_empty or not (one.is_interval_union and other.is_interval_union):
        return False
    _, end = list(one.intervals())[-1]
    begin, _ = next(iter(other.intervals()))
    return end is not None and end <= begin


def _is_single(cell: ValueSet) -> bool:
    strings = cell.strings.members(1) if cell.strings.is_finite else None
    return len(cell.bools) == 1 or (strings is not None and len(strings) == 1)


def _within(variable: Untyped, low: Untyped, high: Untyped, low_closed: bool, high_closed: bool) -> Untyped:
    tests = [z3.BoolVal(True)]
    if low is not None:
        tests.append(variable >= _rational(low) if low_closed else variable > _rational(low))
    if high is not None:
        tests.append(variable <= _rational(high) if high_closed else variable < _rational(high))
    return z3.And(tests)


def _rational(value: int | float | Fraction) -> Untyped:
    exact = Fraction(value)
    return z3.IntVal(exact.numerator) if exact.denominator == 1 else z3.Q(exact.numerator, exact.denominator)
