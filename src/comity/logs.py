"""Structured logs: events with fields, under the standard logger `comity`.

Nothing is printed unless whoever runs the program asks for it: `comity.cli.logs` does for `--log`, and a program that
uses Comity as a library adds handlers as it is used to.
"""

from __future__ import annotations

import logging
from typing import Any

LOGGER = logging.getLogger("comity")
LOGGER.addHandler(logging.NullHandler())
FIELDS = "comity_fields"
"""The attribute of a `logging.LogRecord` that holds the fields."""


def log(event: str, /, *, level: int = logging.INFO, **fields: Any) -> None:
    """Note that something happened.

    >>> log("batch done", batch=7, rejected=0)
    """
    LOGGER.log(level, event, extra={FIELDS: fields}, stacklevel=2)
