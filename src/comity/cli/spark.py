"""Spark for a command: started with a word to the user, and fit for the size of the job."""

from __future__ import annotations

import logging
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from comity.cli.output import console
from comity.cli.session import Session

_BRIEF_BYTES = 32_000_000
"""With less than this to read, starting up is most of the work."""


def start_spark(session: Session, master: str | None = None, *, files: Sequence[str] | None = None) -> Any:
    """The Spark session, whose class only the pipeline knows; for a few small files one that starts quickly."""
    from comity.pipeline.session import spark_session

    brief = files is not None and sum(Path(file).stat().st_size for file in files) < _BRIEF_BYTES
    if not session.verbose:  # the bridge to Java logs a traceback for whatever interrupts it
        logging.getLogger().addHandler(logging.NullHandler())
    with console(stderr=True).status("starting Spark"):
        spark = spark_session(master, brief=brief, verbose=session.verbose)
    # Spark's own handler of Ctrl-C talks to Java in the middle of another call.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark
