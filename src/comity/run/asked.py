"""The sources of a run that are no files: opened with what the plan asks them for, and asked anew when it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from comity.connect.folder import LANDING, REJECTED
from comity.connect.landing import Landing
from comity.connect.port import FOR_EVERYTHING, Ask
from comity.connect.registry import open_source
from comity.connect.specs import SourceSpec
from comity.federation.model import Federation
from comity.logs import log
from comity.plan import Plan, compile_plan
from comity.plan.asks import asked_of

_NAP_S = 0.05


def landing_folder(out: Path, spec: SourceSpec) -> Path:
    """Where the records of a source are kept."""
    return out / LANDING / f"{spec.domain or 'events'}-{spec.name}"


@dataclass(slots=True)
class AskedSources:
    """Sources whose records are landed in files, each under what it is asked for."""

    landings: Mapping[SourceSpec, Landing]
    _known: Federation | None = field(default=None, init=False)

    @property
    def folders(self) -> list[Path]:
        """Where the records are kept, and, among the rejected ones, what a source itself refuses."""
        return [landing.folder for landing in self.landings.values()]

    def follow(self, current: Callable[[], Federation]) -> None:
        """Ask for what the federation's profiles want now, if there is a source that filters."""
        if all(landing.source.capability.filters == "none" for landing in self.landings.values()):
            return
        federation = current()
        if federation is not self._known:
            self._known = federation
            self.ask(compile_plan(federation))

    def ask(self, plan: Plan) -> None:
        """Ask for what the plan wants."""
        for spec, landing in self.landings.items():
            ask = asked_of(spec, plan)
            if ask != landing.wanted:
                landing.change(ask)
                _log_ask("source asked anew", spec, landing, ask)

    def records(self) -> dict[str, int]:
        """By source, how many records it sent since the start."""
        return {_name(spec): landing.rows for spec, landing in self.landings.items()}

    def asked(self) -> Iterator[tuple[str, str, str]]:
        """What each source is asked for now: its name, the type of the events, the filter in its own language."""
        for spec, landing in self.landings.items():
            yield from ((_name(spec), type, text) for type, text in _texts(landing.asked).items())

    def look_after(self) -> None:
        """Raise what keeps a source from being read."""
        for landing in self.landings.values():
            if landing.fault is not None:
                raise landing.fault

    def wait_for_ends(self) -> None:
        """Wait until the sources that come to an end have done so."""
        for landing in self.landings.values():
            while not landing.source.capability.live and not landing.is_ended:
                self.look_after()
                time.sleep(_NAP_S)


@contextmanager
def asked_sources(
    specs: Sequence[SourceSpec], folder: Path, out: Path, plan: Callable[[], Plan]
) -> Iterator[AskedSources]:
    """The sources of these specs, opened with what the plan asks for and landed in `out` while the block runs.

    The plan is made only if there is a source that filters.
    """
    sources = {spec: open_source(spec, folder) for spec in specs}
    is_asked = any(source.capability.filters != "none" for source in sources.values())
    wanted = plan() if is_asked else None
    with ExitStack() as stack:
        landings: dict[SourceSpec, Landing] = {}
        for spec, source in sources.items():
            ask = FOR_EVERYTHING if wanted is None else asked_of(spec, wanted)
            landings[spec] = Landing(source, landing_folder(out, spec), ask=ask, rejected=out / REJECTED)
            _log_ask("source opened", spec, landings[spec], ask)
            stack.callback(_log_records, spec, landings[spec])
            stack.enter_context(landings[spec])
        yield AskedSources(landings)


def _name(spec: SourceSpec) -> str:
    return f"{spec.domain}.{spec.name}" if spec.domain else spec.name


def _texts(ask: Ask) -> dict[str, str]:
    if ask.types is None:
        return {"*": "everything"}
    return {one.type: one.native or "everything" for one in ask.types}


def _log_ask(event: str, spec: SourceSpec, landing: Landing, ask: Ask) -> None:
    log(event, source=_name(spec), filters=landing.source.capability.filters, asked=_texts(ask))


def _log_records(spec: SourceSpec, landing: Landing) -> None:
    log("source closed", source=_name(spec), records=landing.rows)
