"""What profiles may cost."""

from __future__ import annotations

import pytest

from comity.errors import Misuse
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.limits import limited
from comity.match.cost import check_profile_cost, profile_cost


def test_cost_of_a_conjunction_of_constraints_is_small() -> None:
    cost = profile_cost(bind_text("x > 3 and x < 5 and s = 'a'", Scope()))
    assert (cost.conjunctions, cost.tests, cost.always) == (1, 0, 0)
    assert cost.total < 20


def test_cost_counts_what_no_index_helps() -> None:
    cost = profile_cost(bind_text("not s matches '.*a'", Scope()))
    assert (cost.tests, cost.always) == (1, 1)
    assert cost.total > 1000


def test_cost_of_too_many_alternatives_is_that_of_a_test() -> None:
    text = " and ".join(f"(x{i} = 1 or y{i} = 2)" for i in range(10))
    cost = profile_cost(bind_text(text, Scope()))
    assert cost.conjunctions == 64
    assert cost.tests > 0


def test_check_refuses_a_profile_above_the_limit() -> None:
    tree = bind_text("s matches '.*a.*' or t ends with 'b'", Scope())
    assert check_profile_cost(tree).total > 1000
    with limited(max_profile_cost=1000), pytest.raises(Misuse, match="profile-too-costly"):
        check_profile_cost(tree)
