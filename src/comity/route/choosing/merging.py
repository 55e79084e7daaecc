"""Merging-based routing: what no other filter covers is put together where one filter says as much as several.

A merger stands for parts; once one of them goes, it is made anew from the others or taken apart. Since it is made of
what is wanted beyond the link, a neighbour never gets its own interest back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from comity.filter.open_kinds import Path
from comity.limits import limits
from comity.route.choosing.chooser import Chooser, Counts
from comity.route.choosing.covering import Uncovered
from comity.route.choosing.link_covers import LinkCovers
from comity.route.choosing.tops import MergerPart, ToldParts
from comity.route.filters import FilterPool
from comity.route.mergers import Losses, MergeBox
from comity.route.route_filter import RouteFilter
from comity.route.wanted import Interest, Wanted

_MOST_TRIED = 16
"""Candidates for an imperfect merger that are estimated for one filter."""


class Mergeable(Chooser):
    """Chooses what covering chooses, put together; with `losses` and a budget also where a little more is matched."""

    def __init__(self, link: str, pool: FilterPool, losses: Losses | None = None, budget: float = 0.0) -> None:
        super().__init__(link)
        self._base = Uncovered(link, LinkCovers(pool))
        self._pool, self._losses, self._budget = pool, losses, budget
        self._pieces: dict[RouteFilter, MergerPart] = {}
        """Of what covering chooses."""
        self._told = ToldParts(pool, near=bool(budget))
        self.waiting, self.orphaned = self._base.waiting, self._base.orphaned

    def look(self, wanted: Wanted) -> None:
        self._base.postpones = self.postpones
        self._base.look(wanted)

    def forget(self, filter: RouteFilter) -> None:
        self._base.forget(filter)

    def place(self, filter: RouteFilter) -> None:
        self._base.place(filter)

    def shown(self) -> Iterable[RouteFilter]:
        return self._base.shown()

    def close(self) -> None:
        self._base.close()

    def take_changes(self) -> Counts:
        changes = self._base.take_changes()
        loose: dict[MergerPart, None] = {}
        for interest, count in changes.items():
            piece = self._pieces.get(interest.filter)
            if not count and piece is not None and piece.interest == interest:
                self._remove(self._pieces.pop(interest.filter), loose)
        for interest, count in changes.items():
            if count and interest.filter not in self._pieces:
                piece = self._pieces[interest.filter] = MergerPart(interest, self._pool.mergers.box(interest.filter))
                loose[piece] = None
        for piece in loose:
            self._insert(piece)
        return super().take_changes()

    # Taking apart

    def _remove(self, piece: MergerPart, loose: dict[MergerPart, None]) -> None:
        """Take a piece out of wherever it is; what has to find a new place is added to the loose ones."""
        over = piece.over
        if piece in loose:
            del loose[piece]
        elif over is None:
            self._withdraw(piece)
        elif piece in over.hidden:
            del over.hidden[piece]
        else:
            self._break(over, piece, loose)
        piece.over = None
        for hidden in piece.hidden:
            hidden.over = None
        loose.update(piece.hidden)
        piece.hidden = {}

    def _break(self, merger: MergerPart, gone: MergerPart, loose: dict[MergerPart, None]) -> None:
        """Without one of its parts a merger is made anew from the others, or they go their own ways."""
        self._remove(merger, loose)
        del merger.parts[gone]
        left = list(merger.parts)
        remade = self._union(left, merger.path, left) if merger.path and len(left) > 1 else None
        if remade is not None:
            loose[remade] = None
            return
        for part in merger.parts:
            part.over = None
        loose.update(merger.parts)

    # Putting together

    def _insert(self, piece: MergerPart) -> None:
        """Find a place for a loose piece: under a merger, in one, or by itself."""
        while True:
            cover = self._told.covering(piece)
            if cover is not None:
                cover.hidden[piece], piece.over = None, cover
                return
            if piece.parts:
                self._cover_others(piece)
            merger = self._perfect(piece) or self._imperfect(piece)
            if merger is None:
                self._show(piece)
                return
            piece = merger

    def _cover_others(self, merger: MergerPart) -> None:
        """Hide what is told and covered by a new merger."""
        for top in self._told.covered(merger):
            self._withdraw(top)
            merger.hidden[top], top.over = None, merger

    def _perfect(self, piece: MergerPart) -> MergerPart | None:
        if piece.box is None:
            return None
        for path, agreement in piece.box.agreements:
            for other in self._told.alike(piece.interest.durable, agreement):
                parts = [*_flat(piece, path), *_flat(other, path)]
                if len(parts) <= limits().max_merged_filters:
                    merger = self._union([piece, other], path, parts)
                    if merger is not None:
                        self._consume(other, merger)
                        self._consume(piece, merger)
                        return merger
        return None

    def _union(self, pieces: list[MergerPart], path: Path, parts: list[MergerPart]) -> MergerPart | None:
        """The perfect merger of pieces that agree on all but one attribute, and consist of these parts."""
        filter = self._pool.mergers.union((piece.interest.filter for piece in pieces), path)
        if filter is None:
            return None
        interest = Interest(filter, parts[0].interest.durable, self._lost(filter, parts))
        if interest.lost > max(self._budget, *(part.interest.lost for part in parts)):
            return None
        return self._merger(interest, parts, path)

    def _imperfect(self, piece: MergerPart) -> MergerPart | None:
        if piece.box is None or self._losses is None or not self._budget:
            return None
        found: list[tuple[float, int, RouteFilter, MergerPart]] = []
        for other in self._near(piece.box, piece.interest.durable):
            filter = self._pool.mergers.hull(piece.interest.filter, other.interest.filter)
            if filter is not None:
                found.append((self._lost(filter, [piece, other]), len(found), filter, other))
        lost, _, filter, other = min(found, default=(1.0, 0, piece.interest.filter, piece))
        if lost > self._budget:
            return None
        self._withdraw(other)
        return self._merger(Interest(filter, piece.interest.durable, lost), [piece, other], None)

    def _near(self, box: MergeBox, durable: bool) -> Iterator[MergerPart]:
        """Pieces that differ from this one in two attributes at most."""
        tried: dict[MergerPart, None] = {}
        for agreement in box.near:
            for other in self._told.alike(durable, agreement):
                if len(tried) == _MOST_TRIED:
                    return
                if other not in tried:
                    tried[other] = None
                    yield other

    def _merger(self, interest: Interest, parts: list[MergerPart], path: Path | None) -> MergerPart:
        merger = MergerPart(interest, self._pool.mergers.box(interest.filter), parts, path)
        for part in parts:
            part.over = merger
        return merger

    def _consume(self, piece: MergerPart, merger: MergerPart) -> None:
        """A piece goes into a merger; one that was made over the same attribute leaves its parts to it."""
        if piece in self._told:
            self._withdraw(piece)
        if piece not in merger.parts:
            for hidden in piece.hidden:
                hidden.over = merger
            merger.hidden.update(piece.hidden)

    def _lost(self, filter: RouteFilter, parts: list[MergerPart]) -> float:
        if self._losses is None or (not self._budget and not any(part.interest.lost for part in parts)):
            return 0.0
        return self._losses.lost(filter, [(part.interest.filter, part.interest.lost) for part in parts])

    # What is told

    def _show(self, piece: MergerPart) -> None:
        self._told.add(piece)
        self._changed[piece.interest] = 1

    def _withdraw(self, piece: MergerPart) -> None:
        self._told.remove(piece)
        self._changed[piece.interest] = 0


def _flat(piece: MergerPart, path: Path) -> list[MergerPart]:
    """The parts of a merger over this attribute; anything else is a part itself."""
    return list(piece.parts) if piece.path == path else [piece]
