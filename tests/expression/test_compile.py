"""Compiled filters give what the reference evaluator gives."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from comity.event.event import Event
from comity.expression.bind import bind_text
from comity.expression.compile import compile_filter, compile_value
from comity.expression.evaluate import evaluate, holds
from comity.expression.scope import Scope
from comity.testing.expressions import events, filters, open_events, open_filters, open_values


@given(filters(), events())
def test_compiled_typed_filter_equals_evaluator(tree, event):
    assert compile_filter(tree)(event) is holds(tree, event)


@given(open_filters(), open_events())
def test_compiled_open_filter_equals_evaluator(tree, event):
    assert compile_filter(tree)(event) is holds(tree, event)


@given(open_values(), open_events())
def test_compiled_value_equals_evaluator(tree, event):
    found, expected = compile_value(tree)(event), evaluate(tree, event)
    assert type(found) is type(expected)
    assert found == expected


VALUES = [
    None,
    True,
    False,
    0,
    1,
    5,
    5.0,
    2.5,
    -(2**63),
    2**53 + 1,
    "",
    "a",
    "abc",
    "5",
    "2024-02-29T12:00:00Z",
    "PT5M",
]
VALUES += [datetime(2024, 2, 29, 12, tzinfo=UTC), timedelta(minutes=5), b"a", {"x": 1}, {}, [], ["a"], ["a", 1]]

TEXTS = [
    *(f"x {symbol} {value}" for symbol in ("=", "!=", "<", ">=") for value in ("5", "2.5", "'a'", "5 min")),
    *(f"x {symbol} 2024-02-29T12:00:00Z" for symbol in ("=", "!=", "<=", ">")),
    *("x = true", "x != true", "x"),
    *("x between 1 and 5", "x not between 1 and 4.5", "x between 'a' and 'b'", "x not between 5 min and 6 min"),
    *("x between 2024-01-01 and 2025-01-01", "x in (1, 2.5)", "x not in (1, 'a')", "x in ('a', 'b')"),
    *("x in (5 min, 6 min)", "x not in (2024-02-29T12:00:00Z, 2025-01-01)", "x in (true, 1)", "x not in (false)"),
    *("x like 'a%'", "x not like '%c'", "x starts with 'a'", "x ends with 'c'", "x contains 'a'", "x not contains 'a'"),
    *("x matches '[a-c]+'", "x not matches 'a'", "exists x", "not exists x", "is T", "not is T"),
    *("x > y", "y < 3 or x = 'a' or x = y", "x + 1 > 5 and y < 3", "if x > 1 then y > 1 else y < 1", "length(x) > 2"),
    *("coalesce(x, y) = 2", "-x < 0", "x = 1 and y = 2 and x < y", "not (x < 5 or y > 1)"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_compiled_filter_on_every_class_of_value(text):
    tree = bind_text(text, Scope())
    test = compile_filter(tree)
    for value in VALUES:
        data = {"y": 2} | ({} if value is None else {"x": value})
        event = Event("1", "/a", "T", data=data)
        assert test(event) is holds(tree, event), value
        paths = {("x",): value, ("y",): 2, ("event", "type"): "T"}
        assert test(paths) is holds(tree, event), value
