"""The functions of the expression language, its tests of texts and its lookups, as Spark columns."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.event.kinds import Kind, Value, kind_of
from comity.event.types import AttributeType
from comity.expression.functions import FUNCTIONS, Arguments, Function
from comity.expression.like import Token, Wildcard, like_matcher, like_to_regex, like_tokens
from comity.expression.regex.parse import fullmatch, is_linear_in_java, parse_regex, to_java
from comity.pipeline.columns.comparison import any_of, compare, exact_bound
from comity.pipeline.columns.extensions import in_python
from comity.pipeline.operands import (
    BOUNDS,
    MAX_FLOAT,
    Alternatives,
    ColumnOperand,
    constant,
    first_present,
    literal,
    sized,
)
from comity.pipeline.wrap import spark_type

_LONGEST_CHAIN = 16
"""Rows of a table that are tried one after the other; a longer one becomes a map."""
_ROWS_PER_MAP = 8


# Functions


def call(name: str, arguments: tuple[Alternatives, ...]) -> Alternatives:
    """The result of a function, for every combination of kinds that it takes."""
    function = FUNCTIONS[name]
    accepted = [
        [(kind, operand) for kind, operand in argument.items() if kind in kinds]
        for argument, kinds in zip(arguments, function.takes, strict=False)
    ]
    found: dict[Kind, list[ColumnOperand]] = {}
    for chosen in product(*accepted):
        gives = function.gives(*(kind for kind, _ in chosen))
        found.setdefault(gives, []).append(_result(function, chosen))
    return {kind: first_present(operands) for kind, operands in found.items()}


def _result(function: Function, chosen: tuple[tuple[Kind, ColumnOperand], ...]) -> ColumnOperand:
    """The column that the record of a function builds, or a call in the Python workers."""
    kinds, operands = zip(*((kind, operand.settled()) for kind, operand in chosen), strict=True)
    arguments = Arguments(tuple(frozenset({kind}) for kind in kinds), tuple(operand.constant for operand in operands))
    build = function.spark
    column = None if build is None else build(F, arguments, *(operand.column for operand in operands))
    gives = function.gives(*kinds)
    if column is None:
        return in_python(partial(_call, function.name), gives, tuple(zip(kinds, operands, strict=True)))
    bound = operands[0].bound if function.no_larger(arguments) else BOUNDS.get(gives, 0.0)
    size = function.spark_growth * sum(operand.size for operand in operands) + 2
    return sized(ColumnOperand(column, bound=bound, size=size))


def _call(name: str, arguments: tuple[Value | None, ...]) -> Value | None:
    return FUNCTIONS[name].call(arguments)


# Tests of texts


def text_test(test: str, operand: Alternatives, text: str) -> list[Column]:
    """Where the test holds: null where the value is missing or of another kind."""
    found: list[Column] = []
    if Kind.STRING in operand:
        found.append(_TESTS[test](operand[Kind.STRING].column, text))
    if Kind.LIST in operand and test == "contains":
        found += _list_contains(operand[Kind.LIST], text)
    return found


def _list_contains(values: ColumnOperand, text: str) -> list[Column]:
    if values.texts is not None:
        return [F.array_contains(values.texts, text)]
    element: AttributeType | None = values.type.element if values.type else None
    if element is None or element.kind not in (Kind.TIMESTAMP, Kind.DURATION):
        return [F.when(values.column.isNotNull(), F.lit(False))]
    equal = compare("=", {element.kind: ColumnOperand(F.lit(None))}, constant(text))
    if not equal:  # the text is not a time at all
        return [F.when(values.column.isNotNull(), F.lit(False))]
    return [
        F.exists(values.column, lambda item: any_of(compare("=", {element.kind: ColumnOperand(item)}, constant(text))))
    ]


def _like(value: Column, pattern: str) -> Column:
    tokens = like_tokens(pattern)
    match tokens:
        case ():
            return value == ""
        case (str(text),):
            return value == text
        case (Wildcard.RUN,):
            return F.when(value.isNotNull(), F.lit(True))
        case (str(text), Wildcard.RUN):
            return value.startswith(text)
        case (Wildcard.RUN, str(text)):
            return value.endswith(text)
        case (Wildcard.RUN, str(text), Wildcard.RUN):
            return value.contains(text)
    if is_linear_in_java(like_to_regex(pattern)):
        return value.like("".join(_like_token(token) for token in tokens))
    return _in_python(value, like_matcher, pattern)


def _like_token(token: Token) -> str:
    """Spark refuses a backslash before a character that needs none."""
    if isinstance(token, Wildcard):
        return token.value
    return token.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _matches(value: Column, pattern: str) -> Column:
    regex = parse_regex(pattern)
    return value.rlike(to_java(regex)) if is_linear_in_java(regex) else _in_python(value, fullmatch, pattern)


def _in_python(value: Column, matcher: Callable[[str], Callable[[str], bool]], pattern: str) -> Column:
    """RE2 in the Python workers, for patterns on which a backtracking matcher could take for ever."""

    @F.arrow_udf("boolean")  # type: ignore[attr-defined, untyped-decorator]
    def matched(texts: pa.Array) -> pa.Array:
        test = matcher(pattern)
        return pa.array([None if text is None else test(text) for text in texts.to_pylist()], pa.bool_())

    column: Column = matched(value)
    return column


_TESTS: Mapping[str, Callable[[Column, str], Column]] = {
    "starts with": lambda value, text: value.startswith(text),
    "ends with": lambda value, text: value.endswith(text),
    "contains": lambda value, text: value.contains(text),
    "like": _like,
    "matches": _matches,
}


# Lookups


def lookup(key: Alternatives, rows: tuple[tuple[Value, Value], ...]) -> Alternatives:
    """The value beside the first row that equals the key."""
    if not key or not rows:
        return {}
    kinds = {kind: None for _, value in rows if (kind := kind_of(value))}
    table = _as_table(key, rows) if len(rows) > _LONGEST_CHAIN else None
    if table is not None:
        ((key_kind, operand),) = key.items()
        return {kind: _from_map(key_kind, operand, kind, table) for kind in kinds}
    conditions = [any_of(compare("=", constant(known), key)) for known, _ in rows]
    size = sum(operand.size for operand in key.values()) * len(rows)
    return {kind: _from_chain(conditions, kind, rows, size) for kind in kinds}


def _from_chain(
    conditions: list[Column], kind: Kind, rows: tuple[tuple[Value, Value], ...], size: int
) -> ColumnOperand:
    first, *rest = [
        (condition, literal(value) if kind_of(value) is kind else F.lit(None))
        for condition, (_, value) in zip(conditions, rows, strict=True)
    ]
    chain = F.when(*first)
    for condition, value in rest:
        chain = chain.when(condition, value)
    return sized(ColumnOperand(chain, bound=MAX_FLOAT, size=size))


def _as_table(key: Alternatives, rows: tuple[tuple[Value, Value], ...]) -> dict[Value, Value] | None:
    """The rows by keys of the key's own kind, when it has just one, and one that is hashed alike here and in Spark."""
    (kind, *others) = key
    if others or kind not in (Kind.STRING, Kind.INT):
        return None
    if kind is Kind.STRING and any(kind_of(known) in (Kind.TIMESTAMP, Kind.DURATION) for known, _ in rows):
        return None  # a text that spells a time would have to be read
    table: dict[Value, Value] = {}
    for known, value in rows:
        own = _own_key(kind, known)
        if own is not None:
            table.setdefault(own, value)
    return table


def _own_key(kind: Kind, known: Value) -> Value | None:
    if kind is Kind.INT and kind_of(known) is Kind.FLOAT:
        match exact_bound(kind, "=", known):
            case (_, bound):
                return bound
    return known if kind_of(known) is kind else None


def _from_map(key_kind: Kind, key: ColumnOperand, kind: Kind, table: Mapping[Value, Value]) -> ColumnOperand:
    """Spark scans a map from its start, so the rows are spread over many small ones."""
    count = len(table) // _ROWS_PER_MAP + 1
    maps: list[list[Column]] = [[] for _ in range(count)]
    for known, value in table.items():
        if kind_of(value) is kind:
            maps[_bucket(known, count)] += [literal(known), literal(value)]
    empty = F.lit(None).cast(f"map<{_spark_name(key_kind)},{_spark_name(kind)}>")
    buckets = F.array(*(F.create_map(*pairs) if pairs else empty for pairs in maps))
    spread = F.crc32(key.column.cast("binary")) if key_kind is Kind.STRING else key.column
    found = F.get(buckets, F.pmod(spread, F.lit(count)).cast("int"))
    return sized(ColumnOperand(F.try_element_at(found, key.column), bound=MAX_FLOAT, size=2 * key.size + 4))


def _spark_name(kind: Kind) -> str:
    return spark_type(AttributeType(kind)).simpleString()


def _bucket(key: Value, count: int) -> int:
    return (zlib.crc32(key.encode()) if isinstance(key, str) else key) % count
