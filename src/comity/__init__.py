"""Event federation: autonomous event systems exchange meaningful events under contracts.

Names are loaded when they are first used, so that `import comity` costs nothing.

>>> from comity import Filter
>>> bool(Filter("temperature > 30").covers(Filter("temperature > 35")))
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comity.client import connect
    from comity.engine import Notification
    from comity.errors import ComityError, Faults, Misuse, Permanent, Place, Retryable
    from comity.event import read_events
    from comity.event.event import Event
    from comity.event.taxonomy import Taxonomy
    from comity.expression.extensions import extension
    from comity.federation import Federation, load
    from comity.filter.filter import Filter
    from comity.filter.index.filter_set import FilterSet
    from comity.filter.statistics import Statistics
    from comity.match.match import Matcher
    from comity.plan import compile_plan
    from comity.profile.profile import Profile
    from comity.run.api import open, run
    from comity.run.session import LiveSession

    __version__: str

_HOMES = {
    "ComityError": "comity.errors",
    "Event": "comity.event.event",
    "Faults": "comity.errors",
    "Federation": "comity.federation",
    "Filter": "comity.filter.filter",
    "FilterSet": "comity.filter.index.filter_set",
    "LiveSession": "comity.run.session",
    "Matcher": "comity.match.match",
    "Misuse": "comity.errors",
    "Notification": "comity.engine",
    "Permanent": "comity.errors",
    "Place": "comity.errors",
    "Profile": "comity.profile.profile",
    "Retryable": "comity.errors",
    "Statistics": "comity.filter.statistics",
    "Taxonomy": "comity.event.taxonomy",
    "compile_plan": "comity.plan",
    "connect": "comity.client",
    "extension": "comity.expression.extensions",
    "load": "comity.federation",
    "read_events": "comity.event",
    "open": "comity.run.api",
    "run": "comity.run.api",
}

__all__ = [
    "ComityError",
    "Event",
    "Faults",
    "Federation",
    "Filter",
    "FilterSet",
    "LiveSession",
    "Matcher",
    "Misuse",
    "Notification",
    "Permanent",
    "Place",
    "Profile",
    "Retryable",
    "Statistics",
    "Taxonomy",
    "compile_plan",
    "connect",
    "extension",
    "load",
    "open",
    "read_events",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("comity")
    except PackageNotFoundError:  # run from a source tree that was not installed
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
