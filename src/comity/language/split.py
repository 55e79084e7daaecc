"""Split a filter between a source and us: N, the strongest that the source's language can say, and R, the rest.

For a filter F: F implies N, and N and R together are F. So a source that is asked for N sends everything that is
wanted, and what it sends beyond that is filtered here by R. Nothing is ever lost, whatever a language lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from comity.event.types import EventType
from comity.expression.render import render
from comity.expression.simplify import simplify
from comity.expression.tree import (
    TRUE,
    And,
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    Literal,
    Or,
    TextTest,
    attributes,
    walk,
)
from comity.language.bounds import Box, bounds_of
from comity.language.capability import LanguageCapability
from comity.language.fold import both, either, negation_normal
from comity.language.objections import Known, objection
from comity.language.reasons import Reason, reason
from comity.language.rewrite import same
from comity.language.size import Size, size_of
from comity.language.weaken import weaker

_MOST_REWRITES = 5
"""How often a test is put into another form before it is given up."""
_MOST_NODES = 400
"""Nodes that another form of a test may have; larger ones are no help to anyone."""


_STRICT = (Compare, Between, In, TextTest)


@dataclass(frozen=True, slots=True)
class Split:
    """What a source is asked for, what is checked here, and why that is not asked."""

    native: Expression
    residual: Expression
    reasons: tuple[Reason, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the source does it all."""
        return self.residual == TRUE


def split(
    tree: Expression,
    capability: LanguageCapability,
    *,
    type: EventType | None = None,
    text_of: Callable[[Expression], str] = render,
) -> Split:
    """The filter split for a language. It never fails: where nothing can be asked, the native part is true.

    `type` is the type of the events that the source sends; what it declares makes the native part stronger. `text_of`
    gives the native text, where its length has a bound.

    >>> from comity.expression.parse import parse
    >>> from comity.language.parquet import PARQUET
    >>> found = split(parse("room = 'attic' and note matches 'fire.*now'"), PARQUET.capability)
    >>> render(found.native), render(found.residual), [one.code for one in found.reasons]
    ("room = 'attic' and note starts with 'fire'", "note matches 'fire.*now'", ['operator-not-supported', 'weakened'])
    """
    if tree == TRUE:
        return Split(TRUE, TRUE)
    if capability.is_nothing:
        return Split(TRUE, tree, (reason("source-has-no-filter", tree),))
    splitter = _Splitter(capability, Known(type), text_of)
    if objection(tree, capability, splitter.known) is None and splitter.fits(tree):
        return Split(tree, TRUE)
    plain = tree if type is None else simplify(tree, type)
    found = splitter.split(negation_normal(plain, type))
    return replace(found, reasons=tuple(dict.fromkeys(found.reasons)))


@dataclass(frozen=True, slots=True)
class _Splitter:
    capability: LanguageCapability
    known: Known
    text_of: Callable[[Expression], str]
    around: Box | None = None
    """Bounds of attributes in the conjunctions around."""
    rewrites: int = _MOST_REWRITES
    seen: frozenset[Expression] = frozenset()
    """The tests whose other forms are being tried."""

    def split(self, node: Expression) -> Split:
        match node:
            case Literal():
                return Split(node, TRUE)
            case And(items):
                return self._conjunction(node, items)
            case Or(items):
                return self._disjunction(node, items)
        return self._leaf(node)

    def fits(self, node: Expression) -> bool:
        """Whether the language takes so many tests and levels, and so long a text."""
        return size_of(node, self._counts_chars(), self.text_of).fits(self.capability)

    def _counts_chars(self) -> bool:
        return self.capability.max_text_chars is not None

    # Conjunctions: part by part, as many as fit

    def _conjunction(self, node: Expression, items: tuple[Expression, ...]) -> Split:
        inside = replace(self, around={**(self.around or {}), **bounds_of(node)})
        parts = [(item, inside.split(item)) for item in items]
        kept = self._kept([native for _, part in parts for native in self._choices(part.native)])
        natives: list[Expression] = []
        residuals: list[Expression] = []
        reasons: list[Reason] = []
        for item, part in parts:
            asked = [native for native in self._choices(part.native) if native in kept]
            natives += asked
            dropped = len(asked) < len(self._choices(part.native))
            residuals.append(item if dropped else part.residual)
            reasons += part.reasons
            if dropped:
                reasons.append(reason("too-many-terms" if self.capability.conjunction else "no-and", item))
        return Split(both(_without_presence(natives)), both(residuals), tuple(reasons))

    def _choices(self, native: Expression) -> tuple[Expression, ...]:
        """The parts of a conjunction that can be left out one by one."""
        return () if native == TRUE else native.items if isinstance(native, And) else (native,)

    def _kept(self, natives: list[Expression]) -> set[Expression]:
        """Those that fit into one conjunction, the most telling first."""
        kept: dict[Expression, Size] = {}
        for native in sorted(dict.fromkeys(natives), key=_rank):
            size = size_of(native, self._counts_chars(), self.text_of)
            if Size.all_of([*kept.values(), size]).fits(self.capability) and (self.capability.conjunction or not kept):
                kept[native] = size
        return set(kept)

    # Disjunctions: every branch needs a native part

    def _disjunction(self, node: Expression, items: tuple[Expression, ...]) -> Split:
        gathered = self._gathered(items)
        if gathered != items:
            return self.split(either(gathered))
        parts = [self.split(item) for item in items]
        reasons = tuple(one for part in parts for one in part.reasons)
        natives = [part.native for part in parts]
        if all(native == natives[0] for native in natives) and natives[0] != TRUE:
            return Split(natives[0], either(part.residual for part in parts), reasons)
        native = either(natives)
        if native == TRUE or not self.capability.disjunction or not self.fits(native):
            return self._weakened(node, natives, reasons)
        return Split(native, TRUE if all(part.is_exact for part in parts) else node, reasons)

    def _gathered(self, items: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """`x = 1 or x = 2` as `x in (1, 2)`, where the language has that."""
        found: dict[Expression, list[Expression]] = {}
        for item in items:
            match item:
                case Compare("=", operand, Literal() as value):
                    found.setdefault(operand, []).append(value)
                case In(operand, values, False):
                    found.setdefault(operand, []).extend(values)
        lists = {operand: In(operand, tuple(dict.fromkeys(some))) for operand, some in found.items() if len(some) > 1}
        usable = {operand: one for operand, one in lists.items() if self._can_say(one)}
        return tuple(dict.fromkeys(usable.get(_equated(item), item) for item in items))

    def _can_say(self, node: Expression) -> bool:
        return objection(node, self.capability, self.known) is None and self.fits(node)

    def _weakened(self, node: Expression, natives: list[Expression], reasons: tuple[Reason, ...]) -> Split:
        """What all branches have in common: parts of the conjunctions, and the box around them."""
        code = "too-many-terms" if self.capability.disjunction else "no-or"
        code = "branch-without-bound" if TRUE in natives else code
        first, *others = natives
        shared = [one for one in self._choices(first) if all(one in self._choices(other) for other in others)]
        native = self._asked_part([*shared, *_box_tests(node)])
        explained = (self._told_weaker(node, native),) if native != TRUE else ()
        return Split(native, node, (*reasons, reason(code, node), *explained))

    def _asked_part(self, tests: list[Expression]) -> Expression:
        """What the language can say of tests that all follow from a clause."""
        if self.rewrites == 0:
            return TRUE
        return self._deeper().split(both(negation_normal(test, self.known.type) for test in tests)).native

    def _told_weaker(self, clause: Expression, native: Expression) -> Reason:
        return reason("weakened", clause, f"asked for instead: {self.text_of(native)}")

    # Tests

    def _leaf(self, leaf: Expression) -> Split:
        code = objection(leaf, self.capability, self.known)
        if code is None and self.fits(leaf):
            return Split(leaf, TRUE)
        weakest: Expression = TRUE
        for other in self._other_forms(leaf):
            found = self._deeper(leaf).split(other)
            if found.is_exact:
                return Split(found.native, TRUE)
            weakest = weakest if weakest != TRUE else found.native
        if weakest == TRUE:
            weakest = self._weaker(leaf)
        why = reason(code or "too-many-terms", leaf)
        return Split(weakest, leaf, (why,) if weakest == TRUE else (why, self._told_weaker(leaf, weakest)))

    def _other_forms(self, leaf: Expression) -> Iterator[Expression]:
        if self.rewrites == 0 or leaf in self.seen:
            return
        for other in same(leaf, self.known):
            if sum(1 for _ in walk(other)) <= _MOST_NODES:
                yield negation_normal(other, self.known.type)

    def _deeper(self, *leaves: Expression) -> _Splitter:
        return replace(self, rewrites=self.rewrites - 1, seen=self.seen.union(leaves))

    def _weaker(self, leaf: Expression) -> Expression:
        for tests in weaker(leaf, self.known, self.around or {}):
            found = self._asked_part(tests)
            if found != TRUE:
                return found
        return TRUE


def _without_presence(natives: list[Expression]) -> Iterator[Expression]:
    """Without `exists x` beside a test that is false without x."""
    tested = {path for one in natives if isinstance(one, _STRICT) for path in attributes(one)}
    return (one for one in natives if not (isinstance(one, Exists) and one.attribute.path in tested))


def _box_tests(node: Expression) -> Iterator[Expression]:
    for path, found in bounds_of(node).items():
        yield from found.tests(Attribute(path))


def _equated(item: Expression) -> Expression:
    """The operand of a test for equality, or the item itself."""
    match item:
        case Compare("=", operand, Literal()) | In(operand, _, False):
            return operand
    return item


def _rank(native: Expression) -> int:
    """How little a test usually lets pass: what is asked first when not everything can be."""
    match native:
        case Literal():
            return 0
        case Compare("="):
            return 1
        case In(negated=False):
            return 2
        case TextTest(negated=False):
            return 3
        case Between(negated=False):
            return 4
        case Compare("<" | "<=" | ">" | ">="):
            return 5
        case And() | Or():
            return 6
    return 7
