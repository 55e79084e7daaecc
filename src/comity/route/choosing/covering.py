"""Covering-based routing: the neighbour knows what no other filter covers.

Each filter that it need not know hangs on one that covers it, and is looked at again only when that one goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from comity.route.choosing.chooser import SingleChooser
from comity.route.choosing.link_covers import LinkCovers
from comity.route.relatives import CoverIndex
from comity.route.route_filter import RouteFilter
from comity.route.wanted import Interest


class Uncovered(SingleChooser):
    """Chooses the filters that no other one covers; what is durable is hidden by what is durable only."""

    def __init__(self, link: str, covers: CoverIndex | LinkCovers) -> None:
        super().__init__(link)
        self._covers = covers
        self._cover: dict[RouteFilter, RouteFilter] = {}
        """Of each hidden filter, one that hides it and is shown."""
        self._hidden: dict[RouteFilter, dict[RouteFilter, Interest]] = {}
        """By the filter that hides them."""

    def put(self, interest: Interest) -> None:
        filter = interest.filter
        if filter in self.waiting:
            self.waiting[filter] = interest
        elif filter in self._shown:
            self._change_shown(interest)
        elif filter in self._cover:
            self._change_hidden(interest)
        else:
            self._covers.begin(filter)
            if self.postpones:
                self._wait(interest)
            else:
                self._place(interest)

    def forget(self, filter: RouteFilter) -> None:
        if filter in self.waiting or filter in self._cover or filter in self._shown:
            self._take_out(filter)
            self._covers.end(filter)

    def _take_out(self, filter: RouteFilter) -> None:
        """Show and hide the filter no more."""
        if self.waiting.pop(filter, None) is not None:
            return
        cover = self._cover.pop(filter, None)
        if cover is not None:
            hidden = self._hidden[cover]
            del hidden[filter]
            if not hidden:
                del self._hidden[cover]
        else:
            self._withdraw(filter)

    def close(self) -> None:
        for filter in self._shown:
            self._covers.release(filter)
        for filter in (*self._shown, *self._cover, *self.waiting):
            self._covers.end(filter)

    def place(self, filter: RouteFilter) -> None:
        interest = self.waiting.pop(filter, None)
        if interest is not None:
            self._place(interest)

    def _change_shown(self, interest: Interest) -> None:
        shown = self._shown[interest.filter]
        if shown.durable != interest.durable:  # it may hide more than before, or less
            self._withdraw(interest.filter)
            self._place(interest)
        elif shown != interest:
            self._show(interest)

    def _change_hidden(self, interest: Interest) -> None:
        cover = self._cover[interest.filter]
        if interest.durable <= self._shown[cover].durable:
            self._hidden[cover][interest.filter] = interest
        else:
            self._take_out(interest.filter)
            self._place(interest)

    def _place(self, interest: Interest) -> None:
        filter = interest.filter
        cover = self._find_cover(interest)
        if cover is not None:
            filter.known_cover = cover
            self._hang(interest, cover)
            return
        for inner in list(_common(self._covers.within(filter), self._shown)):
            if self._shown[inner].durable <= interest.durable:
                self._take_over(inner, filter)
        self._show(interest)
        self._covers.keep(filter)

    def _find_cover(self, interest: Interest) -> RouteFilter | None:
        filter = interest.filter

        def may_hide(outer: RouteFilter) -> bool:
            return self._may_hide(outer, interest)

        if filter.known_cover is not None and may_hide(filter.known_cover):
            return filter.known_cover
        plain = self._covers.plain_cover(filter, may_hide)
        if plain.is_sure:
            return plain.cover
        return next((o for o in _common(self._covers.around(filter), self._shown) if may_hide(o)), None)

    def _may_hide(self, outer: RouteFilter, interest: Interest) -> bool:
        shown = self._shown.get(outer)
        return shown is not None and shown.durable >= interest.durable

    def _hang(self, interest: Interest, cover: RouteFilter) -> None:
        self._cover[interest.filter] = cover
        self._hidden.setdefault(cover, {})[interest.filter] = interest

    def _take_over(self, inner: RouteFilter, cover: RouteFilter) -> None:
        """Hide a shown filter, and all that it hides."""
        hidden = self._hidden.pop(inner, {})
        hidden[inner] = self._shown[inner]
        for filter in hidden:
            self._cover[filter] = cover
        self._hidden.setdefault(cover, {}).update(hidden)
        inner.known_cover = cover
        self._hide(inner)
        self._covers.release(inner)

    def _withdraw(self, filter: RouteFilter) -> None:
        """Show a filter no more; what it hid has to be looked at again."""
        self._hide(filter)
        self._covers.release(filter)
        for orphan in self._hidden.pop(filter, {}).values():
            del self._cover[orphan.filter]
            self._wait(orphan)

    def _wait(self, interest: Interest) -> None:
        self.waiting[interest.filter] = interest
        self.orphaned.append(interest.filter)


def _common(found: Collection[RouteFilter], shown: dict[RouteFilter, Interest]) -> Iterator[RouteFilter]:
    """Those of the found that are shown."""
    if len(found) <= len(shown) or not isinstance(found, set):
        return (filter for filter in found if filter in shown)
    return (filter for filter in shown if filter in found)
