"""Short ways to make and move messages, for tests on a real database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from uuid_utils.compat import uuid7

from picloud.db.apps import insert_app
from picloud.db.connection import Connection
from picloud.db.messages import Effect, LowWater, Pulled, Sent, Settlement, insert_messages, pull_messages
from picloud.db.queues import list_depths
from picloud.db.scripts import put_script
from picloud.db.triggers import QueueTriggerSettings, insert_queue_trigger
from picloud.payload import encode_payload
from picloud.types import App, ClaimToken, MessageId, NewMessage, QueueTrigger


def message(queue: str = "jobs", payload: Any = None, **more: Any) -> NewMessage:
    return NewMessage(MessageId(uuid7()), queue, encode_payload(payload), **more)


@dataclass
class Claims:
    """What one pull claimed, and its token."""

    token: ClaimToken
    pulled: Pulled

    @property
    def ids(self) -> list[MessageId]:
        return [m.id for m in self.pulled.messages]

    @property
    def payloads(self) -> list[Any]:
        return [m.payload for m in self.pulled.messages]


@dataclass
class Queue:
    """One queue of an app of its own."""

    conn: Connection
    app: App
    name: str = "jobs"
    low_water: LowWater = field(default_factory=LowWater)

    async def send(self, *payloads: Any, **more: Any) -> list[Sent]:
        return await insert_messages(self.conn, self.app.id, [message(self.name, p, **more) for p in payloads])

    async def claim(
        self,
        limit: int = 10,
        *,
        done: Claims | None = None,
        effects: Sequence[Effect] = (),
        low_water: LowWater | None = None,
        conn: Connection | None = None,
    ) -> Claims:
        """Pull once, acknowledging all of `done`."""
        token = ClaimToken(uuid7())
        settle = Settlement(token) if done is None else Settlement(done.token, done.ids, effects)
        pulled = await pull_messages(
            conn or self.conn,
            self.app.id,
            self.name,
            settle=settle,
            claim_token=token,
            limit=limit,
            low_water=low_water or LowWater(),
        )
        return Claims(token, pulled)

    async def counts(self, name: str | None = None) -> tuple[int, int, int, int]:
        """(ready, delayed, claimed, dead)"""
        for depth in await list_depths(self.conn, self.app.id):
            if depth.name == (name or self.name):
                return (depth.ready, depth.delayed, depth.claimed, depth.dead)
        return (0, 0, 0, 0)

    async def bind(self, **settings: Any) -> QueueTrigger:
        """Give the queue a consumer."""
        await put_script(self.conn, self.app.id, "work", "def handle(event, ctx): pass")
        return await insert_queue_trigger(self.conn, self.app.id, "work", self.name, QueueTriggerSettings(**settings))

    async def age_claims(self, seconds: float) -> None:
        """Let every lease be older, by the database's clock."""
        await self.conn.execute(
            "update queue_messages set claimed_at = claimed_at - make_interval(secs => %s) "
            "where claim_token is not null",
            (seconds,),
        )


async def new_queue(conn: Connection, name: str = "jobs") -> Queue:
    return Queue(conn, await insert_app(conn, f"app-{uuid4()}"), name)
