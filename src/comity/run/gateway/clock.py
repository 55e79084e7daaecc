"""The time, for a gateway, whose steps have no clock."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """It is so late."""
    return datetime.now(UTC)
