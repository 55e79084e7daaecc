"""Units that are refused."""

from __future__ import annotations

import pytest

from comity.errors import Misuse
from comity.meaning import units


@pytest.mark.parametrize("unit", ["m^(9^9^9)", "km**(9**9**9)", "m^9^9^9^9"])
def test_a_power_of_a_power_is_refused_at_once(unit: str) -> None:
    with pytest.raises(Misuse) as caught:
        units.check_unit(unit)
    assert caught.value.code == "unknown-unit"


def test_a_logarithmic_unit_is_refused_and_not_computed() -> None:
    with pytest.raises(Misuse) as caught:
        units.conversion("dB", "dimensionless")
    assert caught.value.code == "incompatible-units"
