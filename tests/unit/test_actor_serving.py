"""Requests at the gate: who waits for a worker thread, and for how long."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import cast
from uuid import uuid4

import pytest
import trio
from engine_harness import SHOP, Harness, open_harness

from picloud.actors.library import Library
from picloud.actors.runtime import WakeMailbox
from picloud.actors.serving import RouteRequest, Serving, ServingConfig, pick_route
from picloud.db.http_triggers import StoredRoute
from picloud.db.pool import Pool
from picloud.db.scripts import ScriptHead
from picloud.engine import Outcome
from picloud.errors import DatabaseUnavailable, GateFull, ScriptInvalid
from picloud.types import Script, ScriptId, TriggerId

REQUEST = RouteRequest("GET", "/hello", {}, {}, {}, None, b"", "r1")


@pytest.fixture
def harness() -> Iterator[Harness]:
    with open_harness() as made:
        yield made


async def make_serving(
    harness: Harness, source: str, gate: trio.CapacityLimiter, outcomes: list[Outcome], pool: object = None
) -> Serving:
    """Return what serves GET /hello with a script that has no effects."""
    script = harness.deploy("hello", source)

    async def heads() -> list[ScriptHead]:
        return [ScriptHead(script.id, script.version)]

    async def load(ids: Sequence[ScriptId]) -> list[Script]:
        return [script]

    async def routes() -> list[StoredRoute]:
        return [StoredRoute("shop", SHOP, TriggerId(uuid4()), "hello", "GET", "/hello")]

    library = Library(heads, load, routes, WakeMailbox(), poll_interval=1.0)
    await library.refresh()
    return Serving(
        cast(Pool, pool),
        library,
        harness.engine,
        gate,
        ServingConfig(gate_wait=0.1),
        on_sent=lambda app_id, messages, sent: None,
        on_outbox=lambda: None,
        on_outcomes=outcomes.extend,
    )


async def serve(serving: Serving) -> Outcome:
    return await serving.serve(pick_route(serving.find_routes("shop", ["hello"]), "GET"), REQUEST)


async def test_request_is_refused_when_no_thread_becomes_free(harness: Harness) -> None:
    gate, outcomes = trio.CapacityLimiter(1), list[Outcome]()
    serving = await make_serving(harness, "def handle(event, ctx):\n    return 1", gate, outcomes)
    gate.acquire_on_behalf_of_nowait("another")
    with pytest.raises(GateFull, match="all worker threads are busy"):
        await serve(serving)
    assert outcomes == []
    gate.release_on_behalf_of("another")
    assert (await serve(serving)).value == 1
    assert gate.borrowed_tokens == 0


async def test_handler_that_runs_for_longer_than_the_wait_at_the_gate_answers(harness: Harness) -> None:
    source = "import time\ndef handle(event, ctx):\n    time.sleep(0.3)\n    return 'late'"
    outcomes = list[Outcome]()
    serving = await make_serving(harness, source, trio.CapacityLimiter(1), outcomes)
    assert (await serve(serving)).value == "late"
    assert len(outcomes) == 1


async def test_script_that_breaks_the_policy_is_refused_and_gives_its_thread_back(harness: Harness) -> None:
    gate = trio.CapacityLimiter(1)
    serving = await make_serving(harness, "import os", gate, [])
    with pytest.raises(ScriptInvalid):
        await serve(serving)
    assert gate.borrowed_tokens == 0


class AwayPool:
    """A pool whose database is away."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        raise DatabaseUnavailable("away")
        yield


async def test_what_could_not_be_committed_is_recorded_as_not_done(harness: Harness) -> None:
    source = "from picloud.sdk import queue\ndef handle(event, ctx):\n    queue.enqueue('jobs', 1)"
    outcomes = list[Outcome]()
    serving = await make_serving(harness, source, trio.CapacityLimiter(1), outcomes, AwayPool())
    with pytest.raises(DatabaseUnavailable):
        await serve(serving)
    (recorded,) = outcomes
    assert (recorded.status, recorded.messages) == ("cancelled", ())
    assert recorded.error is not None
    assert recorded.error.type == "NotCommitted"


async def test_request_that_was_answered_is_recorded_once_with_its_trigger(harness: Harness) -> None:
    outcomes = list[Outcome]()
    serving = await make_serving(harness, "def handle(event, ctx):\n    return 1", trio.CapacityLimiter(1), outcomes)
    answered = await serve(serving)
    assert [one.execution_id for one in outcomes] == [answered.execution_id]
    assert (outcomes[0].status, outcomes[0].job.request_id) == ("ok", "r1")
    assert outcomes[0].job.trigger_id is not None
