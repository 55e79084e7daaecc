"""When to try again: a policy as data, and the wait that follows from it. Time and chance are arguments."""

from __future__ import annotations

from dataclasses import dataclass

from comity.limits import limits


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is tried, and how long one waits in between.

    Waits grow by `factor` from `first_delay_s` up to `longest_delay_s`; up to the share `jitter` of each is left to
    chance, so that those who failed together do not come back together.

    >>> policy = RetryPolicy(attempts=4, first_delay_s=1.0, factor=2.0, jitter=0.0, longest_delay_s=3.0)
    >>> [policy.wait_s(failed, elapsed_s=0.0, chance=0.0) for failed in (1, 2, 3, 4)]
    [1.0, 2.0, 3.0, None]
    """

    attempts: int = 8
    first_delay_s: float = 0.2
    factor: float = 2.0
    jitter: float = 0.5
    longest_delay_s: float = 15.0
    deadline_s: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_delay_s < 0 or self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError("attempts and factor start at 1, delays at 0, and jitter is a share from 0 to 1")

    @classmethod
    def from_limits(cls) -> RetryPolicy:
        """The policy within the limits in force: `max_delivery_attempts` and `max_delivery_seconds`."""
        bounds = limits()
        return cls(attempts=bounds.max_delivery_attempts, deadline_s=float(bounds.max_delivery_seconds))

    def wait_s(
        self, failed: int, *, elapsed_s: float, chance: float, retry_after_s: float | None = None
    ) -> float | None:
        """Seconds to wait after `failed` attempts; None to give up.

        `chance` is from 0 to 1. Who was told `retry_after_s` waits at least so long, and gives up at once if that is
        later than the deadline.

        >>> RetryPolicy(deadline_s=10).wait_s(1, elapsed_s=4.0, chance=0.0, retry_after_s=7.0) is None
        True
        """
        if failed >= self.attempts:
            return None
        wait = max(self._delay_s(failed) * (1 - self.jitter * chance), retry_after_s or 0.0)
        return None if elapsed_s + wait > self.deadline_s else wait

    def _delay_s(self, failed: int) -> float:
        try:
            return min(self.first_delay_s * self.factor ** (failed - 1), self.longest_delay_s)
        except OverflowError:
            return self.longest_delay_s
