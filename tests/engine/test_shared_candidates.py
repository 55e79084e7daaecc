"""Composite profiles that ask for the same of other events do not get each other's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import comity

ALARM = {"attributes": {"spot": "string", "temperature": "float degC"}}
FEDERATION = {
    "federation": "houses",
    "domains": {
        "north": {"types": {"Fire": ALARM}},
        "south": {"types": {"Fire": ALARM}},
        "station": {"types": {"Alarm": ALARM}},
    },
    "contracts": {
        "fire": {
            "types": {"Fire": ALARM},
            "members": {"north": {"type": "Fire", "map": "same"}, "south": {"type": "Fire", "map": "same"}},
            "observers": {"station": {"type": "Alarm", "map": "same"}},
        }
    },
}
EVENTS = [
    {
        "id": str(minute),
        "source": "/house",
        "type": f"{domain}.Fire",
        "time": f"2026-05-01T12:0{minute}:00Z",
        "data": {"spot": "hall", "temperature": 70.0},
    }
    for minute, domain in enumerate(("north", "south", "north"))
]
PAIR = {"domain": "station", "on": "Alarm a ; Alarm b within 5 min"}
BY_SPOT = {**PAIR, "where": "a.spot = b.spot"}
TERMS: list[tuple[dict[str, Any], int]] = [
    ({}, 3),
    ({"scope": ["north"]}, 1),
    ({"scope": ["south"]}, 0),
    ({"expires": "2026-05-01T12:01:30Z"}, 1),
    ({"active": {"from": "12:01", "until": "13:00"}}, 1),
]


def reports(profiles: dict[str, Any]) -> Counter[str]:
    outcomes = comity.run({**FEDERATION, "profiles": profiles}, EVENTS)
    return Counter(outcome.profile for outcome in outcomes if isinstance(outcome, comity.Notification))


@pytest.mark.parametrize("pattern", [PAIR, BY_SPOT], ids=["without a key", "with a key"])
@pytest.mark.parametrize("turn", [1, -1])
def test_terms_keep_candidates_apart(pattern: dict[str, Any], turn: int) -> None:
    """Together, in either order, each reports what it reports by itself."""
    profiles = {f"p{number}": {**pattern, **terms} for number, (terms, _) in enumerate(TERMS)}
    expected = Counter({f"p{number}": count for number, (_, count) in enumerate(TERMS) if count})
    assert sum((reports({name: profile}) for name, profile in profiles.items()), Counter()) == expected
    assert reports(dict(list(profiles.items())[::turn])) == expected
