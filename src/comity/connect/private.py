"""Files that hold what is not for everybody on the machine: notifications, addresses, what was asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Literal, cast


def open_private(path: Path | str, mode: Literal["ab", "wb"]) -> BinaryIO:
    """Open a file to write; one that is made now can be read by its owner only."""
    return cast(BinaryIO, open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600)))
