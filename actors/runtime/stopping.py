"""Stop children: ask, wait as long as each spec says, cancel, and say so when even that does not help."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import trio

from picloud.actors.runtime.child import Child

CANCEL_GRACE = 1.0
"""Seconds between the last cancellation and the report that the child does not end."""


async def stop_children(children: Iterable[Child]) -> list[Child]:
    """Stop all children at the same time; return those that did not end and are still there.

    One task waits for all: always for the child whose time is over first, while the others end meanwhile.
    """
    begun = trio.current_time()
    waiting = [
        (begun + child.ask_to_stop(), place, child.incarnation, child)
        for place, child in enumerate(children)
        if child.is_alive
    ]
    heapify(waiting)
    cancelled: set[Child] = set()
    stuck = []
    while waiting:
        deadline, place, incarnation, child = heappop(waiting)
        if await ends_by(child, incarnation, deadline):
            continue
        if child in cancelled:
            child.give_up_waiting(trio.current_time() - begun)
            stuck.append(child)
        else:
            child.end_now()
            cancelled.add(child)
            heappush(waiting, (trio.current_time() + CANCEL_GRACE, place, incarnation, child))
    return stuck


async def ends_by(child: Child, incarnation: int, deadline: float) -> bool:
    """Wait for the end of an incarnation; return False if it is still alive at the deadline."""

    def has_ended() -> bool:
        return not child.is_alive or child.incarnation != incarnation

    with trio.move_on_at(deadline):
        await child.until(has_ended)
    return has_ended()
