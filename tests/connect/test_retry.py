"""The retry policy: waits that grow, are bounded, and end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.connect.retry import RetryPolicy
from comity.limits import limited

POLICIES = st.builds(
    RetryPolicy,
    attempts=st.integers(1, 2_000),
    first_delay_s=st.floats(0, 10),
    factor=st.floats(1, 100),
    jitter=st.floats(0, 1),
    longest_delay_s=st.floats(0, 100),
    deadline_s=st.floats(0, 1_000),
)


@given(policy=POLICIES, failed=st.integers(1, 3_000), elapsed_s=st.floats(0, 2_000), chance=st.floats(0, 1))
def test_wait_s_stays_within_the_bounds(policy, failed, elapsed_s, chance):
    wait = policy.wait_s(failed, elapsed_s=elapsed_s, chance=chance)
    if failed >= policy.attempts:
        assert wait is None
    if wait is not None:
        assert 0 <= wait <= policy.longest_delay_s
        assert elapsed_s + wait <= policy.deadline_s


@given(policy=POLICIES, chance=st.floats(0, 1))
def test_wait_s_always_gives_up(policy, chance):
    elapsed, failed = 0.0, 1
    while (wait := policy.wait_s(failed, elapsed_s=elapsed, chance=chance)) is not None:
        elapsed, failed = elapsed + wait, failed + 1
    assert failed <= policy.attempts


def test_wait_s_jitter_only_shortens():
    policy = RetryPolicy(first_delay_s=4.0, jitter=0.5)
    assert policy.wait_s(1, elapsed_s=0, chance=0.0) == 4.0
    assert policy.wait_s(1, elapsed_s=0, chance=1.0) == 2.0


def test_wait_s_honours_what_the_server_says():
    policy = RetryPolicy(first_delay_s=1.0, jitter=0.0, deadline_s=10.0)
    assert policy.wait_s(1, elapsed_s=0, chance=0.0, retry_after_s=5.0) == 5.0
    assert policy.wait_s(1, elapsed_s=0, chance=0.0, retry_after_s=0.0) == 1.0
    assert policy.wait_s(1, elapsed_s=6, chance=0.0, retry_after_s=5.0) is None


def test_wait_s_of_huge_exponents_is_the_longest_delay():
    assert RetryPolicy(attempts=10**6, jitter=0.0).wait_s(10**5, elapsed_s=0, chance=0.0) == 15.0


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"first_delay_s": -1}, {"factor": 0.5}, {"jitter": 2}])
def test_policy_refuses_nonsense(wrong):
    with pytest.raises(ValueError, match="attempts and factor"):
        RetryPolicy(**wrong)


def test_from_limits():
    with limited(max_delivery_attempts=3, max_delivery_seconds=7):
        policy = RetryPolicy.from_limits()
    assert (policy.attempts, policy.deadline_s) == (3, 7.0)
