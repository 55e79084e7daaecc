"""From the filters that events pass to those who hold them.

What the arrays are: the events are `rows` of a batch, ascending; the filters of the one in `rows[e]` are
`ids[offsets[e]:offsets[e + 1]]`. `begin` and `count` tell of each filter in which places those stand who hold it, and
`client` of each place whose it is.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import kernel


@kernel
def mark_wanted(rows: Any, offsets: Any, ids: Any, is_wanted: Any, found: Any) -> None:
    """Marks the rows of events with a wanted filter; of each event no more is looked at than until the first one."""
    for event in range(len(rows)):
        for at in range(offsets[event], offsets[event + 1]):
            if is_wanted[ids[at]]:
                found[rows[event]] = True
                break


@kernel
def count_by_client(ids: Any, begin: Any, count: Any, client: Any, ends: Any) -> Any:
    """Makes of `ends`, of which there is one more than of clients, where the entries of each begin; gives their number.

    There is an entry for each event and place that meet.
    """
    for number in range(len(ends)):
        ends[number] = 0
    for at in range(len(ids)):
        first = begin[ids[at]]
        for place in range(first, first + count[ids[at]]):
            ends[client[place]] += 1
    total = 0
    for number in range(len(ends)):
        here = ends[number]
        ends[number] = total
        total += here
    return total


@kernel
def fan_out(
    rows: Any, offsets: Any, ids: Any, begin: Any, count: Any, client: Any, ends: Any, out_rows: Any, out_places: Any
) -> Any:
    """Writes the entries of each client, by ascending rows; then `ends` is where they end.

    Gives how many entries are about an event of which the client has one already.
    """
    again = 0
    for event in range(len(rows)):
        for at in range(offsets[event], offsets[event + 1]):
            first = begin[ids[at]]
            for place in range(first, first + count[ids[at]]):
                number = client[place]
                to = ends[number]
                ends[number] = to + 1
                out_rows[to] = rows[event]
                out_places[to] = place
                # The place before is of another client if it is the first entry; then a repeat is counted for nothing.
                if to > 0 and out_rows[to - 1] == rows[event]:
                    again += 1
    return again
