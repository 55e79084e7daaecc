import pytest

from comity.expression.bind import bind_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.with_units import with_units


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("t > 30 degC", "t > 30 degC"),
        ("30 degC < t", "30 degC < t"),
        ("t > 30 degC or t < 50 degF", "t > 30 degC or t < 10 degC"),
        ("t between 0 degC and 41 degF", "t between 0 degC and 5 degC"),
        ("not t in (1 km, 500 m)", "not t in (1 km, 0.5 km)"),
        ("n > 3 and t > 30 degC and room = 'a'", "n > 3 and t > 30 degC and room = 'a'"),
        ("span > 5 min", "span > duration('PT5M')"),
    ],
)
def test_with_units_shows_the_unit_of_the_attribute(text, shown):
    scope = Scope(convert_open_units=True)
    tree = bind_text(text, scope)
    again = render(with_units(tree, scope.open_units))
    assert again == shown
    assert bind_text(again, Scope(convert_open_units=True)) == tree
