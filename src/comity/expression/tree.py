"""The one expression tree: filters, mappings and conditions are all made of these nodes.

Nodes are frozen, hashable and compare by structure. Value nodes give a value or nothing (a missing value); truth
nodes (`TRUTH`) give true or false, never a third answer. Truth nodes other than `And`, `Or`, `Not` and a Boolean
`Literal` are *atoms*: false when an operand is missing or of an incompatible kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

from comity.event.kinds import Value
from comity.expression.extensions import ExtensionFunction
from comity.expression.table_rows import TableRows


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: bool, int, float, str, datetime (UTC), timedelta, bytes or Point."""

    value: Value

    def __eq__(self, other: object) -> bool:  # 1, 1.0 and True are three literals
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with a unit as written; binding turns it into a `Literal` in the unit of what it meets."""

    number: int | float
    unit: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the event by its dotted path. `event.…` is the envelope; two names of a point are `.x` and
    `.y`.
    """

    path: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`+ - * / %`. `+` also joins strings; timestamps and durations add and subtract."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the expression language, see `functions.py`."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Extension:
    """A call of a function that is not built in, see `extensions.py`; binding makes it of a `Call`."""

    name: str
    function: ExtensionFunction
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if c then a else b`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Lookup:
    """`lookup('table', key)`: the value beside the key, missing when the key is not in the table.

    `rows` is empty until binding puts the table's pairs there.
    """

    table: str
    key: Expression
    rows: tuple[tuple[Value, Value], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.rows, TableRows):
            object.__setattr__(self, "rows", TableRows(self.rows))

    @property
    def pairs(self) -> TableRows:
        """The rows, as what answers questions about all of them."""
        assert isinstance(self.rows, TableRows)
        return self.rows


@dataclass(frozen=True, slots=True)
class Compare:
    """`= != < <= > >=`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Between:
    """`x between low and high`, both ends included. Negated: outside, and present."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In:
    """`x in (…)` over literals. Negated: none of them, but present and of a kind that occurs among them."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TextTest:
    """`like`, `starts with`, `ends with`, `contains`, `matches` with a constant text. Negated: a string, but not so."""

    operator: str
    operand: Expression
    text: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists x`."""

    attribute: Attribute


@dataclass(frozen=True, slots=True)
class IsType:
    """`is T`: the event's type is T or below. `names` is empty until binding puts the qualified names there."""

    type: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class And:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    item: Expression


Truth = Compare | Between | In | TextTest | Exists | IsType | And | Or | Not
"""What gives true or false; a Boolean `Literal` does, too."""
Expression = Literal | Quantity | Attribute | Arithmetic | Negative | Call | Extension | Conditional | Lookup | Truth

ATOMS = (Compare, Between, In, TextTest, Exists, IsType)
TRUTH = (*ATOMS, And, Or, Not)
TRUE, FALSE = Literal(True), Literal(False)
MISSING = Call("coalesce", ())
"""The expression that never has a value."""

MIRRORED: Mapping[str, str] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operator that holds when the two sides change places."""


def is_truth(node: Expression) -> bool:
    """Whether the node is a filter: a truth node or a Boolean constant."""
    return isinstance(node, TRUTH) or (isinstance(node, Literal) and isinstance(node.value, bool))


def conjunction(items: list[Expression]) -> Expression:
    """All of them; flattened, and true when there are none."""
    return _joined(And, items, TRUE)


def disjunction(items: list[Expression]) -> Expression:
    """Any of them; flattened, and false when there are none."""
    return _joined(Or, items, FALSE)


def _joined(node: type[And] | type[Or], items: list[Expression], empty: Expression) -> Expression:
    flat: list[Expression] = []
    for item in items:
        flat.extend(item.items) if isinstance(item, node) else flat.append(item)
    if not flat:
        return empty
    return flat[0] if len(flat) == 1 else node(tuple(flat))


def children(node: Expression) -> Iterator[Expression]:
    """The direct parts of a node."""
    if isinstance(node, Lookup):  # its rows are values, and may be many
        yield node.key
        return
    for value in _parts(node):
        if isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Expression))
        elif isinstance(value, Expression):
            yield value


def walk(node: Expression) -> Iterator[Expression]:
    """The node and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(children(current))))


def attributes(node: Expression) -> frozenset[tuple[str, ...]]:
    """The paths that the expression reads."""
    return frozenset(part.path for part in walk(node) if isinstance(part, Attribute))


def depends_on_event(node: Expression) -> bool:
    """Whether the value can differ from one event to the next.

    >>> depends_on_event(Compare("=", Literal(1), Literal(2)))
    False
    """
    return any(isinstance(part, Attribute | IsType) or is_impure(part) for part in walk(node))


def is_impure(node: Expression) -> bool:
    """Whether the node calls a function that may give another result each time."""
    return isinstance(node, Extension) and not node.function.pure


_NODES = frozenset(get_args(Expression))
E = TypeVar("E", bound=Expression)


def rebuild(node: E, change: Callable[[Expression], Expression]) -> E:
    """The node with `change` applied to its direct parts; the same object when nothing changed."""
    changes: dict[str, Any] = {}
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        if value.__class__ in _NODES:
            new: Any = change(value)
        elif value.__class__ is tuple and value and value[0].__class__ in _NODES:
            new = tuple([change(item) for item in value])
        else:
            continue
        if new is not value and new != value:
            changes[name] = new
    return replace(node, **changes) if changes else node


def substitute(node: Expression, put: Mapping[tuple[str, ...], Expression]) -> Expression:
    """The expression with other expressions in place of attributes.

    >>> substitute(Attribute(("x",)), {("x",): Literal(1)})
    Literal(value=1)
    """
    if isinstance(node, Attribute):
        return put.get(node.path, node)
    return rebuild(node, lambda part: substitute(part, put))


def _parts(node: Expression) -> Iterator[Any]:
    # What `fields` reads, without its checks: every tree is walked, and some have a hundred thousand nodes.
    return (getattr(node, name) for name in node.__dataclass_fields__)
