"""Keeps the detector of composite rules at the end of the log, and what it finds in the log."""

from __future__ import annotations

import asyncio
import logging

from comity.logs import log as note
from comity.node.detection import LogDetector
from comity.node.log import NodeLog
from comity.node.rule_rows import DetectionState, keep_detection, read_detection
from comity.server.store.port import NewEvent

_KEEP_EVERY = 10_000
"""Entries after which it is written down how far the detector is, so that a restart reads no more than these again."""
_TICK_S = 0.25


class Detecting:
    """Runs while the node does. It begins where the base says, so what a crash interrupted is found again, and once."""

    def __init__(self, log: NodeLog, lateness_us: int) -> None:
        self._log, self._lateness_us = log, lateness_us
        self._detector: LogDetector | None = None
        self._rules_after = -1
        self._kept_at = 0
        self._is_told = True
        """Whether all that the detector found stands in the log; only then may its state be kept."""
        self._late_told = 0

    @property
    def position(self) -> int | None:
        """How far the log was detected in; None while there is no composite rule."""
        return None if self._detector is None else self._detector.position

    @property
    def late(self) -> int:
        """Events that came too late to take part."""
        return 0 if self._detector is None else self._detector.late

    async def run(self) -> None:
        """Detect until this is cancelled."""
        while True:
            if self._detector is None and not await self._begin():
                await self._log.book.reached(self._log.book.changes + 1)
                continue
            await self._step()

    async def stop(self) -> None:
        """Write down how far it is."""
        await self._keep()

    async def _begin(self) -> bool:
        """Take up where the base says; False if there is no composite rule."""
        found = await self._log.store.look(read_detection)
        if found is None:
            return False
        self._detector = LogDetector(self._lateness_us, found.position)
        self._kept_at, self._rules_after = found.position, self._log.book.changes
        rules, taxonomy = self._log.book.composites(), self._log.taxonomy
        if found.state is None:
            self._detector.set_rules(rules, taxonomy)
        else:
            self._detector.restore(found.state, rules, taxonomy)
        return True

    async def _step(self) -> None:
        detector = self._detector
        assert detector is not None, "it was begun"
        if detector.position < self._log.last:
            page = await self._log.page(detector.position)
            if not self._follow_rules(detector):
                return
            self._is_told = False
            reports = [report for entry in page.entries for report in detector.take(entry)]
            detector.position = max(detector.position, page.position)
            await self._report(reports)
            if detector.position - self._kept_at >= _KEEP_EVERY:
                await self._keep()
            return
        await self._tick(detector)

    async def _tick(self, detector: LogDetector) -> None:
        """Let time pass, if it may decide something, until there are more entries or other rules."""
        changes = self._log.book.changes
        waits = [self._log.store.grown(detector.position), self._log.book.reached(changes + 1)]
        tasks = [asyncio.ensure_future(one) for one in waits]
        try:
            patience = None if detector.is_settled else _TICK_S
            done, _ = await asyncio.wait(tasks, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        if not self._follow_rules(detector):
            return
        if not done:
            last, at_us = await self._log.store.within(lambda desk: (desk.last, desk.at_us))
            if last == detector.position:
                self._is_told = False
                await self._report(detector.advance(at_us))

    def _follow_rules(self, detector: LogDetector) -> bool:
        """Have the rules that there are now; False: there is no composite one any more."""
        book = self._log.book
        if self._rules_after != book.changes:
            self._rules_after = book.changes
            rules = book.composites()
            if not rules:
                self._detector = None
                return False
            detector.set_rules(rules, self._log.taxonomy)
        return True

    async def _report(self, reports: list[NewEvent]) -> None:
        if reports:
            await self._log.store.append(reports)
        self._is_told = True
        detector = self._detector
        if detector is not None and detector.late > self._late_told:
            note("events too late for composite rules", level=logging.INFO, events=detector.late - self._late_told)
            self._late_told = detector.late

    async def _keep(self) -> None:
        if self._detector is not None and self._is_told:
            found = DetectionState(self._detector.position, self._detector.save())
            await self._log.store.within(lambda desk: keep_detection(desk, found))
            self._kept_at = found.position
