"""What runs now, and how to cancel it, over HTTP."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

from http_api import NODE_ID, Api, Surroundings
from uuid_utils.compat import uuid7

from picloud.db.pool import Pool
from picloud.db.running import OwnExecution, publish_running
from picloud.engine import Cancel, InvokeEvent, Job, RunningExecution
from picloud.engine.sandbox import compile_script
from picloud.types import App, AppId, ExecutionId

SCRIPT = compile_script("def handle(event, ctx): pass", "work")


def own(app_id: AppId) -> RunningExecution:
    job = Job(app_id, "shop", SCRIPT, 1, InvokeEvent(None, "x"))
    return RunningExecution(ExecutionId(uuid7()), job, time.time())


async def publish(pool: Pool, app: App, count: int, *, node: Any = None) -> list[ExecutionId]:
    ids = [ExecutionId(uuid7()) for _ in range(count)]
    async with pool.connection() as conn:
        rows = [OwnExecution(one, app.id, "work", "queue", "jobs", "m", 3.0) for one in ids]
        await publish_running(conn, node or uuid4(), rows)
    return ids


async def test_lists_what_runs_here_and_on_other_nodes_in_pages(
    api: Api, around: Surroundings, shop: App, pool: Pool
) -> None:
    others = await publish(pool, shop, 2)
    # this node published it, and it has ended since
    await publish(pool, shop, 1, node=NODE_ID)
    around.running = [own(shop.id), own(AppId(uuid4()))]
    more = await publish(pool, shop, 1)
    expected = [str(one) for one in [*others, around.running[0].id, *more]]
    shown, cursor = [], ""
    for _ in range(4):
        page = (await api.get(f"/api/v1/apps/shop/executions/running?limit=1{cursor}")).body
        shown += [one["id"] for one in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"
    assert shown == expected
    assert page["next_cursor"] is None
    everything = (await api.get("/api/v1/apps/shop/executions/running")).body["items"]
    assert [one["id"] for one in everything] == expected
    assert everything[2]["source"] == "invoke"
    assert everything[0]["queue_name"] == "jobs"


async def test_cancel_stops_what_runs_here_at_once(api: Api, around: Surroundings, shop: App) -> None:
    around.running = [own(shop.id)]
    execution_id = around.running[0].id
    answer = await api.post(f"/api/v1/apps/shop/executions/{execution_id}/cancel", {"discard": True})
    assert (answer.status, answer.body["status"]) == (202, "requested")
    assert around.cancelled == [(execution_id, Cancel("test", discard=True))]
    assert around.changed == []


async def test_cancel_leaves_a_wish_for_the_node_that_runs_it(
    api: Api, around: Surroundings, shop: App, pool: Pool
) -> None:
    there = uuid4()
    (execution_id,) = await publish(pool, shop, 1, node=there)
    answer = await api.post(f"/api/v1/apps/shop/executions/{execution_id}/cancel")
    assert (answer.status, answer.body["discard"]) == (202, False)
    assert around.changed == ["cancels"]
    async with pool.connection() as conn:
        rows = [OwnExecution(execution_id, shop.id, "work", "queue", "jobs", "m", 3.0)]
        (wish,) = await publish_running(conn, there, rows)
    assert (wish.by, wish.discards) == ("test", False)


async def test_cancel_of_what_does_not_run_or_is_another_apps_is_404(api: Api, around: Surroundings, shop: App) -> None:
    around.running = [own(AppId(uuid4()))]
    for execution_id in (uuid4(), around.running[0].id, "x"):
        answer = await api.post(f"/api/v1/apps/shop/executions/{execution_id}/cancel")
        assert (answer.status, answer.code) == (404, "execution_not_found")
    assert around.cancelled == []
