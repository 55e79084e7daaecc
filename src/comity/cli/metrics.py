"""`--metrics FILE` and `--metrics-port PORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from comity.cli.options import option

MetricsFileOption = Annotated[
    Path | None,
    option("FILE", "Keep metrics in a file, in Prometheus text format.", "--metrics"),
]
MetricsPortOption = Annotated[
    int | None,
    typer.Option(
        "--metrics-port", metavar="PORT", min=0, max=65_535, help="Serve metrics at /metrics.", show_default=False
    ),
]
MetricsHostOption = Annotated[str, typer.Option("--metrics-host", metavar="HOST", help="Address of --metrics-port.")]
