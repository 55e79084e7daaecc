"""Where the metrics of a run can be read: in a file, or on a port."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comity.errors import Misuse
from comity.run.observer import Notice, Observer, Silent
from comity.run.outputs import written_whole

if TYPE_CHECKING:
    from comity.connect.delivered import DeliveredSize
    from comity.plan.metrics import RunMetrics
    from comity.plan.stages import Summary
    from comity.run.asked import AskedSources

LOOPBACK = "127.0.0.1"


@dataclass(slots=True)
class MetricsOutput:
    """Takes what each batch did, and keeps it where others can read it; does nothing when nobody asked for it."""

    metrics: RunMetrics | None = None
    file: Path | None = None
    port: int | None = None
    """The port that is served; with `--metrics-port 0` a free one."""
    observer: Observer = field(default_factory=Silent)

    @classmethod
    @contextmanager
    def into(
        cls,
        federation: str,
        *,
        file: Path | None = None,
        port: int | None = None,
        host: str = LOOPBACK,
        observer: Observer | None = None,
    ) -> Iterator[MetricsOutput]:
        """One that writes a file, or answers on a port, until the end of the block."""
        if file is None and port is None:
            yield cls()
            return
        from comity.plan.metrics import RunMetrics

        metrics = RunMetrics(federation)
        with ExitStack() as stack:
            served = stack.enter_context(metrics_served(metrics.registry, host, port)) if port is not None else None
            output = cls(metrics, file, served, observer or Silent())
            output.write()
            try:
                yield output
            finally:
                with suppress(OSError, Misuse):  # what ended the run matters more
                    output.write()

    def take(
        self,
        summary: Summary,
        *,
        lag_s: float | None = None,
        at_s: float | None = None,
        remembered: Callable[[], DeliveredSize] | None = None,
    ) -> None:
        """Count a batch, and let others see it. A full disk is no reason to stop the run."""
        if self.metrics is None:
            return
        if remembered is not None:
            self.metrics.remember(remembered())
        self.metrics.take(summary, at_s=time.time() if at_s is None else at_s, lag_s=lag_s)
        try:
            self.write()
        except (OSError, Misuse) as error:
            self.observer.warning(Notice(f"the metrics were not written: {error}", "metrics-not-written"))

    def watch(self, sources: AskedSources) -> None:
        """Let others see what sources are asked for, and how many records they sent."""
        if self.metrics is not None:
            self.metrics.sources = sources

    def write(self) -> None:
        """Replace the file, if there is one, at once."""
        if self.metrics is not None and self.file is not None:
            with written_whole(self.file) as stream:
                stream.write(self.metrics.render())


@contextmanager
def metrics_served(registry: Any, host: str, port: int) -> Iterator[int]:
    """HTTP at /metrics; gives the port."""
    from prometheus_client import start_http_server

    server: Any
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except (OSError, OverflowError) as error:
        hint = "choose another --metrics-port, or 0 for a free one"
        reason = f"{host}:{port} cannot be served: {getattr(error, 'strerror', None) or error}"
        raise Misuse(reason, code="port-not-free", hint=hint) from error
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
