"""Whatever stands for a federation: a folder, a mapping that says the same, a federation, or a compiled plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comity.federation import Federation, load
from comity.plan.compile import compile_plan
from comity.plan.stages import Plan

FederationLike = str | Path | Mapping[str, Any] | Federation | Plan


def federation_of(given: str | Path | Mapping[str, Any] | Federation) -> Federation:
    """The federation, loaded if it is not yet."""
    return given if isinstance(given, Federation) else load(given)


def plan_of(given: FederationLike) -> Plan:
    """The plan, compiled if it is not yet."""
    return given if isinstance(given, Plan) else compile_plan(federation_of(given))
